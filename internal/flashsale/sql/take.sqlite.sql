--  take: take newly stored orders out of the stock of their sales.
--
--  ?1  JSON: [{voucher, n: units}]
UPDATE flash_sales SET stock = stock - t.n
FROM (SELECT value ->> 'voucher' AS voucher, value ->> 'n' AS n FROM json_each(?1)) AS t
WHERE id = t.voucher
