-- schema: what the comparison needs beside the server's own tables: how many pieces an
-- order has, which the server's are one of; a version of a sale; and the tables of
-- those who know neither constraints nor indexes.
ALTER TABLE orders ADD COLUMN quantity integer NOT NULL DEFAULT 1;
ALTER TABLE flash_sales ADD COLUMN version bigint NOT NULL DEFAULT 1;
CREATE SCHEMA bare;
CREATE TABLE bare.orders (LIKE orders INCLUDING DEFAULTS);
CREATE TABLE bare.flash_sales (LIKE flash_sales INCLUDING DEFAULTS);
