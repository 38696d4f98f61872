-- update_vouchers: stores until when vouchers of shops are on sale. It skips shops without a
-- change. The caller has locked the shops, so it sees all committed vouchers.
--
-- $1  shop ids
--
-- returns  ids of the changed shops
--
-- An ordinary voucher is on sale until 2^53 - 1.
WITH sales AS (
  SELECT s.id AS shop,
    (SELECT max(CASE v.kind WHEN 'FLASH' THEN f.ends_at ELSE 9007199254740991 END)
      FROM vouchers AS v LEFT JOIN flash_sales AS f ON f.id = v.id WHERE v.shop_id = s.id AND v.status = 'ON_SALE') AS vouchers_until,
    (SELECT max(f.ends_at)
      FROM vouchers AS v JOIN flash_sales AS f ON f.id = v.id WHERE v.shop_id = s.id AND v.status = 'ON_SALE') AS flash_until
  FROM shops AS s
  WHERE s.id = ANY($1)
)
UPDATE shops AS s
SET vouchers_until = sales.vouchers_until, flash_until = sales.flash_until, version = s.version + 1
FROM sales
WHERE s.id = sales.shop AND (s.vouchers_until IS DISTINCT FROM sales.vouchers_until OR s.flash_until IS DISTINCT FROM sales.flash_until)
RETURNING id
