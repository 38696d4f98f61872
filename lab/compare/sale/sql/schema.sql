-- schema: extend the server's tables for the comparison: the quantity of an order, which is one in
-- the server; a version of a sale; and tables without constraints and indexes for ways that know
-- neither.
ALTER TABLE orders ADD COLUMN quantity integer NOT NULL DEFAULT 1;
ALTER TABLE flash_sales ADD COLUMN version bigint NOT NULL DEFAULT 1;
CREATE SCHEMA bare;
CREATE TABLE bare.orders (LIKE orders INCLUDING DEFAULTS);
CREATE TABLE bare.flash_sales (LIKE flash_sales INCLUDING DEFAULTS);
