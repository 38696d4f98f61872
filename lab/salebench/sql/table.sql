-- table: one like that of the orders, with all its indexes, which holds none.
CREATE TABLE IF NOT EXISTS salebench_orders (LIKE orders INCLUDING ALL)
