-- publication_create: publish the changes of these tables.
--
-- {publication}  quoted name of the publication
-- {tables}       quoted names of tables, with their schema
--
-- Needs CREATE on the database and the ownership of the tables. Takes a lock on each
-- that goes with reads and writes, but not with other changes of its definition.
CREATE PUBLICATION {publication} FOR TABLE {tables} WITH (publish = 'insert, update, delete, truncate')
