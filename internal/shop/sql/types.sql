-- types: types of shops.
--
-- $1  their ids
--
-- returns  id, name, icon, place in the list
SELECT id, name, icon_url, sort FROM shop_types
WHERE id = ANY($1)
