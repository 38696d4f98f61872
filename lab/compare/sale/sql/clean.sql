-- clean: remove all sales and orders, so that each measurement finds tables of one size.
TRUNCATE orders, outbox_jobs, bare.orders, bare.flash_sales, flash_sales, vouchers CASCADE
