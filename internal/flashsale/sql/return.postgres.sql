-- return: give pieces back to sales, in the transaction that ends their orders. The rows are
-- locked in the order of their ids, as commit does.
--
-- $1  JSON: [{voucher, n: pieces}]
UPDATE flash_sales AS f SET stock = f.stock + t.n
FROM (
  SELECT s.id, i.n
  FROM flash_sales AS s JOIN json_to_recordset($1::json) AS i(voucher bigint, n bigint) ON s.id = i.voucher
  ORDER BY s.id
  FOR UPDATE OF s
) AS t
WHERE f.id = t.id
