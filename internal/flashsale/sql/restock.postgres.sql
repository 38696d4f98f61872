--  restock: return units to sales, in the transaction that ends their orders. It locks the
--  rows in id order, like commit.
--
--  $1  JSON: [{voucher, n: units}]
UPDATE flash_sales AS f SET stock = f.stock + t.n
FROM (
  SELECT s.id, i.n
  FROM flash_sales AS s JOIN json_to_recordset($1::json) AS i(voucher bigint, n bigint) ON s.id = i.voucher
  ORDER BY s.id
  FOR UPDATE OF s
) AS t
WHERE f.id = t.id
