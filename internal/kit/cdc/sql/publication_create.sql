-- publication_create: publish the changes of these tables.
--
-- {publication}  quoted name of the publication
-- {tables}       quoted names of tables, with their schema
--
-- Needs CREATE on the database and ownership of the tables. Locks each table: this allows
-- reads and writes, but no other change of its definition.
CREATE PUBLICATION {publication} FOR TABLE {tables} WITH (publish = 'insert, update, delete, truncate')
