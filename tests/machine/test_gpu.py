"""What only a machine with a card can show."""

import pytest
import torch


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_an_operation_on_the_card_agrees_with_the_cpu():
    left, right = torch.randn(2, 64, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    product = left.cuda() @ right.cuda()
    assert product.is_cuda
    torch.testing.assert_close(product.cpu(), left @ right)
