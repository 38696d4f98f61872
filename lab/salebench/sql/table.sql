-- table: create an empty table like that of the orders, with all its indexes.
CREATE TABLE IF NOT EXISTS salebench_orders (LIKE orders INCLUDING ALL)
