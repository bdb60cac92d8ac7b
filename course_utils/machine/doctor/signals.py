"""The messages that the doctor knows: name -> regular expressions, each of which proves it.

The order is the order of causes: in an installation log the first fault explains those after it.
"""

from __future__ import annotations

SIGNALS: dict[str, tuple[str, ...]] = {
    # container engines
    "toolkit_missing": (
        r"could not select device driver", r"unknown or invalid runtime name: nvidia",
        r"""nvidia-container-(runtime|cli|toolkit)[\"']?:? (executable file )?not found""",
        r'exec: \"?nvidia-container',
    ),
    "cdi_missing": (
        r"unresolvable CDI devices?", r"CDI device injection failed",
        r"nvidia\.com/gpu=\S+.{0,40}(no such file|not found)",
    ),
    "runtime_unrecognised": (r"unrecognized runtime",),
    "engine_no_driver": (
        r"nvidia-container-cli: initialization error: (load library failed|nvml error: driver not loaded|driver error)",
        r"nvidia-container-cli.{0,80}libnvidia-ml\.so",
    ),
    # driver
    "driver_library_mismatch": (
        r"Driver/library version mismatch", r"unsupported display driver / cuda driver combination",
        r"cudaErrorSystemDriverMismatch", r"\bError 803\b", r"API mismatch: the client has the version",
    ),
    "gpu_lost": (
        r"GPU is lost", r"fallen off the bus", r"Xid[^\n]*: ?79\b", r"Unable to determine the device handle",
        r"Unknown device: GPU is lost",
    ),
    "driver_too_old": (
        r"NVIDIA driver on your system is too old", r"CUDA driver version is insufficient",
        r"cudaErrorInsufficientDriver", r"unsatisfied condition: cuda ?>=",
        r"compiled with an unsupported toolchain", r"cudaErrorUnsupportedPtxVersion",
    ),
    "fabric": (r"system not yet initialized", r"cudaErrorSystemNotReady", r"\bError 802\b",),
    "compatibility": (
        r"forward compatibility was attempted", r"cudaErrorCompatNotSupportedOnDevice", r"\bError 804\b",
    ),
    "secure_boot": (r"Key was rejected by service", r"Required key not available",),
    "permission": (
        r"Insufficient Permissions", r"(/dev/nvidia\S*|nvidiactl|nvidia-smi).{0,40}(Permission denied|权限不够)",
    ),
    "nvml_unknown": (r"Failed to initialize NVML: Unknown Error",),
    "driver_not_loaded": (
        r"Driver Not Loaded", r"couldn't communicate with the NVIDIA driver", r"Module nvidia not found",
    ),
    "nvml_library_missing": (
        r"libnvidia-ml\.so", r"NVML Shared Library Not Found", r"Failed to initialize NVML: .{0,20}Not Found",
    ),
    "no_devices_found": (r"No devices were found", r"No devices found",),
    "no_driver": (r"Found no NVIDIA driver on your system", r"libcuda\.so\.1: cannot open",),
    # torch's build
    "not_compiled": (r"Torch not compiled with CUDA enabled", r"PyTorch was compiled without CUDA",),
    "no_kernel_image": (
        r"no kernel image is available", r"is not compatible with the current PyTorch installation",
        r"no longer supports this GPU", r"cudaErrorNoKernelImageForDevice",
    ),
    # libraries behind an import
    "numpy_abi": (
        r"_ARRAY_API not found", r"compiled using NumPy 1\.x", r"numpy\.dtype size changed",
        r"numpy\.core\.multiarray failed to import", r"Numpy is not available",
    ),
    "opencv_gl": (r"lib(GL|gthread-2\.0|glib-2\.0|SM|ICE|Xext|Xrender|X11|xcb[\w-]*)\.so[.\d]*: cannot open",),
    "qt_plugin": (
        r"could not (load|find) the Qt platform plugin",
        r"The function is not implemented\. Rebuild the library with",
    ),
    "cudnn": (
        r"cuDNN version incompatibility",
        r"CUDNN_STATUS_(NOT_INITIALIZED|VERSION_MISMATCH|SUBLIBRARY_VERSION_MISMATCH)",
        r"Could not load library libcudnn", r"libcudnn\w*\.so[.\d]*: (undefined symbol|version)",
    ),
    "cuda_library": (
        r"lib(cudart|cublas|cudnn|cufft|curand|cusparse|cusolver|nccl|nvrtc|nvJitLink|nvshmem|cupti)\S*: cannot open",
        r"libcud(art|nn)\S* .{0,20}not found in the system path",
    ),
    "cuda_symbol": (
        r"lib(cu|nv|nccl)\w*\.so[.\d]*: (undefined symbol|version)",
        r"undefined symbol: \S*(nvJitLink|cublas|cudnn|nccl|cusparse)",
    ),
    "mkl": (r"undefined symbol: iJIT", r"INTEL MKL ERROR", r"libmkl_\w+\.so[.\d]*: (cannot open|undefined)",),
    "undefined_symbol": (r"undefined symbol: ",),
    "glibc": (r"""version [`'\"]GLIBC_[\d.]+['\"]? not found""",),
    "libstdcxx": (r"""version [`'\"](GLIBCXX|CXXABI)_[\d.]+['\"]? not found""",),
    "torchvision_pair": (
        r"torchvision::nms does not exist", r"PyTorch and torchvision (were compiled with|has) different CUDA",
        r"Couldn't load custom C\+\+ ops", r"PyTorch and TorchAudio were compiled with different CUDA",
    ),
    "shadowed_module": (r"partially initialized module .{0,80}circular import",),
    # this process
    "device_assert": (
        r"device-side assert triggered", r"cudaErrorAssert", r"vectorized_gather_kernel.{0,80}Assertion",
        r"Assertion `[^`]*` failed",
    ),
    "illegal_address": (
        r"illegal memory access", r"cudaErrorIllegalAddress", r"misaligned address",
        r"unspecified launch failure",
    ),
    "fork": (r"Cannot re-initialize CUDA in forked subprocess",),
    "ordinal": (r"invalid device ordinal", r"cudaErrorInvalidDevice\b",),
    "ecc": (r"uncorrectable ECC error", r"cudaErrorECCUncorrectable", r"Xid[^\n]*: ?(48|94|95)\b",),
    "busy": (r"busy or unavailable", r"cudaErrorDevicesUnavailable",),
    "prohibited": (r"in prohibited compute mode", r"cudaErrorDeviceUninitialized.{0,40}prohibited",),
    "launch_timeout": (r"launch timed out and was terminated", r"cudaErrorLaunchTimeout",),
    "out_of_memory": (
        r"CUDA out of memory", r"OutOfMemoryError", r"CUDA error: out of memory", r"cudaErrorMemoryAllocation",
        r"Error 2: out of memory",
    ),
    "cuda_unknown": (r"CUDA unknown error", r"cudaErrorUnknown", r"CUDA error: unknown error",),
    "cuda_initialization": (
        r"CUDA driver initialization failed", r"CUDA error: initialization error",
        r"cudaErrorInitializationError",
    ),
    "no_device": (r"no CUDA-capable device is detected", r"No CUDA GPUs are available", r"cudaErrorNoDevice",),
    # installation logs
    "gym_metadata": (
        r"extras_require'? must be a dictionary",
        r"gym[ =-]{1,2}0\.2[01][\w.]*.{0,200}(invalid metadata|metadata-generation-failed)",
        r"error in gym setup command", r"opencv-python>=3\.\s",
    ),
    "swig": (
        r"command '?swig'? failed", r"swig(\.exe)?'?: (command )?not found",
        r"No such file or directory: '?swig", r"Failed building wheel for box2d-py",
        r"unable to execute '?swig", r"swig：未找到命令",
    ),
    "numpy_bool8": (r"module '?numpy'? has no attribute '?bool8", r"`?np\.bool8`? is a deprecated alias",),
    "externally_managed": (r"externally-managed-environment",),
    "no_version": (r"No matching distribution found", r"Could not find a version that satisfies",),
    "no_space": (r"No space left on device", r"Errno 28\b", r"设备上没有空间", r"ENOSPC",),
    "quota": (r"Disk quota exceeded", r"Errno 122\b", r"超出磁盘限额",),
    "read_only": (r"Read-only file system", r"只读文件系统",),
    "network": (
        r"Temporary failure in name resolution", r"Read timed out", r"ConnectTimeout",
        r"Failed to establish a new connection", r"Network is unreachable", r"ProxyError",
        r"Connection reset by peer", r"Could not resolve host",
    ),
    # Atari
    "roms_missing": (
        r"ale_py/roms/\S*", r"no longer distributes ROMs", r"Unable to find the game",
        r"ROM (file )?\S* ?(is )?(not found|missing)",
    ),
    "atari_needs_gymnasium": (r"ale_py[\s\S]{0,1000}No module named '?gymnasium",),
    "atari_not_registered": (r"Namespace `?'?ALE'?`? (not found|does not exist)",),
    "atari_old_id": (
        r"Environment `?'?Pong(Deterministic|-ram)\S*`? doesn't exist", r"NameNotFound[^\n]*Pong",
    ),
    # display
    "old_render": (r"NoSuchDisplayException", r"pyglet[\s\S]{0,400}Cannot connect to",),
    "xvfb": (
        r"(No such file or directory|FileNotFoundError)[^\n]*Xvfb", r"Xvfb[^\n]*(not found|No such file)",
        r"EasyProcess[^\n]*Xvfb",
    ),
    "gl_with_dummy": (
        r"OpenGL not available", r"dummy[^\n]*OpenGL", r"OpenGL support is either not configured",
    ),
    "sdl_video": (
        r"No available video device", r"video system not initialized", r"(x11|wayland) not available",
    ),
    "gl_platform": (r"an OpenGL platform library has not been loaded", r"OpenGL platform library",),
    "glfw": (
        r"GLFWError", r"FatalError: gladLoadGL", r"X11: The DISPLAY environment variable is missing",
        r"could not initialize GLFW",
    ),
    "egl": (
        r"Unable to load EGL library[^\n]*",
        r"Cannot initialize a EGL device", r"libEGL\.so[.\d]*: cannot open", r"eglQueryDevicesEXT",
        r"EGL_NOT_INITIALIZED", r"'NoneType' object has no attribute 'egl\w*'",
        r"(No|Failed)[^\n]*EGL[^\n]*(device|display)",
    ),
    "osmesa": (
        r"libOSMesa\S*: cannot open", r"has no attribute 'OSMesa",
        r"'NoneType' object has no attribute 'glGetError'",
    ),
    "no_server": (
        r"cannot open display", r"could ?n[o']t connect to display", r"unable to open display",
        r'Cannot connect to \"?:\d',
    ),
    "render_mode": (
        r"without specifying any render mode", r"render_mode is not rgb_array", r"render mode is None",
    ),
    "ffmpeg": (
        r"No such file or directory: '?ffmpeg", r"ffmpeg[^\n]*(not found|is not installed|未找到命令)",
        r"No ffmpeg exe", r"MovieWriter ffmpeg unavailable",
    ),
    "glyph": (
        r"Glyph \d+ [^\n]*missing from", r"findfont: Font family [^\n]*(CJK|SimHei|WenQuanYi)[^\n]*not found",
    ),
    # memory and workers
    "bus_error": (
        r"Bus error", r"insufficient shared memory",
        r"unable to (open|mmap|write to file) [^\n]*(/dev/shm|torch_\d+)",
    ),
    "killed": (
        r"^Killed\b", r"kernel (has )?died", r"appears to have died",
        r"exit(ed with)? (code )?137\b", r"by signal: Killed",
        r"oom-?kill", r"signal 9", r"SIGKILL", r"^已杀死",
    ),
    "mlp_on_gpu": (r"run PPO on the GPU, but it is primarily intended to run on the CPU",),
}  # fmt: skip
