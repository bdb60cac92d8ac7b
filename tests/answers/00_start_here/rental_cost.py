import math

# %% right: plain
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    hours = busy_hours + idle_hours
    return hours * price_per_hour + storage_gigabytes * price_per_gigabyte_month * hours / 730

# %% right: hours of a month computed
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    months = (busy_hours + idle_hours) / (365 * 24 / 12)
    machine = busy_hours * price_per_hour + idle_hours * price_per_hour
    return machine + months * storage_gigabytes * price_per_gigabyte_month

# %% right: hourly rate first
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    storage_per_hour = storage_gigabytes * (price_per_gigabyte_month / 730.0)
    rate = price_per_hour + storage_per_hour
    return (busy_hours + idle_hours) * rate

# %% right: months variable and sum of list
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    attached = sum([busy_hours, idle_hours])
    months = attached / 730
    parts = [attached * price_per_hour]
    if storage_gigabytes:
        parts.append(months * storage_gigabytes * price_per_gigabyte_month)
    return sum(parts)

# %% wrong: arguments dropped -> It cannot be called as the course calls it
def rental_cost(busy_hours, idle_hours, price_per_hour):
    return (busy_hours + idle_hours) * price_per_hour

# %% wrong: idle is free -> Idle hours are missing. The meter runs while the machine is attached, whether it works or not
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    hours = busy_hours + idle_hours
    return busy_hours * price_per_hour + storage_gigabytes * price_per_gigabyte_month * hours / 730

# %% wrong: storage for a whole month -> Storage is counted for a whole month, however short the rental is
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour + storage_gigabytes * price_per_gigabyte_month

# %% wrong: storage only while idle -> Storage is paid for busy hours too: use all hours, not the idle ones
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour + storage_gigabytes * price_per_gigabyte_month * idle_hours / 730

# %% wrong: storage only for busy hours -> Storage is paid for idle hours too: use all hours, not the busy ones
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour + storage_gigabytes * price_per_gigabyte_month * busy_hours / 730

# %% wrong: month of 24*30 hours -> A month has 730 hours (365 days in 12 months), not 720
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * price_per_hour + storage_gigabytes * price_per_gigabyte_month * h / (24 * 30)

# %% wrong: missing brackets -> Are brackets missing around busy + idle?
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return busy_hours + idle_hours * price_per_hour + storage_gigabytes * price_per_gigabyte_month * (busy_hours + idle_hours) / 730

# %% wrong: gigabytes forgotten -> The storage price is per gigabyte: multiply by the gigabytes
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * price_per_hour + price_per_gigabyte_month * h / 730

# %% wrong: price of the storage forgotten -> The price of the storage is not used
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * price_per_hour + storage_gigabytes * h / 730

# %% wrong: per month not converted -> Storage is priced per month, and it is counted once per hour here: divide the hours by 730
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * (price_per_hour + storage_gigabytes * price_per_gigabyte_month)

# %% wrong: storage forgotten -> Storage is not counted: 730 hours of it cost nothing
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour

# %% wrong: months rounded up -> Storage is counted for a whole month, however short the rental is
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    months = math.ceil(h / 730)
    return h * price_per_hour + storage_gigabytes * price_per_gigabyte_month * months

# %% wrong: months rounded down -> Are the months rounded to 0 (// or int)?
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * price_per_hour + storage_gigabytes * price_per_gigabyte_month * (h // 730)

# %% wrong: busy times idle -> Busy and idle hours are multiplied
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours * idle_hours
    return h * price_per_hour + storage_gigabytes * price_per_gigabyte_month * h / 730

# %% wrong: rounding to cents -> The cost is rounded. Give the exact value and round only for printing
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return round(h * price_per_hour + storage_gigabytes * price_per_gigabyte_month * h / 730, 2)

# %% wrong: times 730 -> The 730 is on the wrong side: hours / 730 are months
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * price_per_hour + storage_gigabytes * price_per_gigabyte_month * 730 * h

# %% wrong: machine divided by 730 -> The machine is divided by 730 too
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    h = busy_hours + idle_hours
    return h * (price_per_hour + storage_gigabytes * price_per_gigabyte_month) / 730
