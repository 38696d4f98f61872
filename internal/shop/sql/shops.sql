-- shops: reads shops.
--
-- $1  shop ids
--
-- returns  the columns that fromRow in shop.go needs
SELECT id, type_id, owner_id, name, images, area, address, lat, lng, avg_price, sold, comment_count, score, open_hours, version FROM shops
WHERE id = ANY($1)
