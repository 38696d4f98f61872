-- update_vouchers: stores until when vouchers of shops are on sale. It skips shops without a
-- change. The caller has locked the shops, so it sees all committed vouchers.
--
-- $1  shop ids
--
-- returns  ids of the changed shops
--
-- An ordinary voucher is on sale until 2^53 - 1.
UPDATE shops AS s
SET vouchers_until = (SELECT max(CASE v.kind WHEN 'FLASH' THEN f.ends_at ELSE 9007199254740991 END)
    FROM vouchers AS v LEFT JOIN flash_sales AS f ON f.id = v.id WHERE v.shop_id = s.id AND v.status = 'ON_SALE'),
  flash_until = (SELECT max(f.ends_at)
    FROM vouchers AS v JOIN flash_sales AS f ON f.id = v.id WHERE v.shop_id = s.id AND v.status = 'ON_SALE'),
  version = version + 1
WHERE id = ANY($1) AND (
  vouchers_until IS DISTINCT FROM (SELECT max(CASE v.kind WHEN 'FLASH' THEN f.ends_at ELSE 9007199254740991 END)
    FROM vouchers AS v LEFT JOIN flash_sales AS f ON f.id = v.id WHERE v.shop_id = s.id AND v.status = 'ON_SALE')
  OR flash_until IS DISTINCT FROM (SELECT max(f.ends_at)
    FROM vouchers AS v JOIN flash_sales AS f ON f.id = v.id WHERE v.shop_id = s.id AND v.status = 'ON_SALE')
)
RETURNING id
