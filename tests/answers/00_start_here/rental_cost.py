# %% right: plain
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    hours = busy_hours + idle_hours
    return hours * price_per_hour + storage_gigabytes * price_per_gigabyte_month * hours / 730

# %% right: one factor
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    per_hour = price_per_hour + storage_gigabytes * price_per_gigabyte_month / 730
    return (busy_hours + idle_hours) * per_hour

# %% right: hours of a month computed
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    months = (busy_hours + idle_hours) / (365 * 24 / 12)
    machine = busy_hours * price_per_hour + idle_hours * price_per_hour
    return machine + months * storage_gigabytes * price_per_gigabyte_month

# %% wrong: idle is free -> Idle hours are missing
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return busy_hours * price_per_hour + storage_gigabytes * price_per_gigabyte_month * busy_hours / 730

# %% wrong: no storage -> Storage is not counted
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour

# %% wrong: month's price every hour -> divide the hours by 730
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * (price_per_hour + storage_gigabytes * price_per_gigabyte_month)

# %% wrong: a whole month always -> however short the rental is
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour + storage_gigabytes * price_per_gigabyte_month

# %% wrong: 30 days of 24 hours -> not 720
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    hours = busy_hours + idle_hours
    return hours * price_per_hour + storage_gigabytes * price_per_gigabyte_month * hours / (30 * 24)

# %% wrong: storage only while busy -> use all hours, not the busy ones
def rental_cost(busy_hours, idle_hours, price_per_hour, storage_gigabytes=0.0, price_per_gigabyte_month=0.0):
    return (busy_hours + idle_hours) * price_per_hour + storage_gigabytes * price_per_gigabyte_month * busy_hours / 730

# %% wrong: arguments dropped -> cannot be called as the course calls it
def rental_cost(busy_hours, idle_hours, price_per_hour):
    return (busy_hours + idle_hours) * price_per_hour
