-- town: twenty thousand shops and users with their data, for query plans.
--
-- Modulos distribute the rows over their owners; user 1 likes and follows many. Foreign keys
-- are added back after the rows: checking a table once is faster than checking each row.
CREATE TEMP TABLE links AS SELECT conrelid::regclass AS child, conname, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace;
DO $$ DECLARE l links; BEGIN
  FOR l IN SELECT * FROM links LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', l.child, l.conname); END LOOP;
END $$;
INSERT INTO users (nickname, phone, external_id, created_at, updated_at)
SELECT 'user ' || i, '+86139' || lpad(i::text, 8, '0'), 'user:' || i, now(), now() FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO sessions (id, created_at, expires_at, ended_at, user_id)
SELECT md5(i::text), now(), now() + i * interval '1 second', CASE WHEN i % 100 = 0 THEN now() END, i FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO shops (external_id, name, images, lat, lng, geo, sold, score, search, created_at, updated_at, type_id, owner_id)
SELECT 'shop:' || i, 'Shop ' || i, '[]', 21 + i % 200 * 0.001, 105 + i / 200 * 0.001, i::bigint * 56294995342, i % 997, i % 50 / 10.0, 'shop ' || i || ' street ' || i % 771, now(), now(),
  1 + i % (SELECT count(*) FROM shop_types), CASE WHEN i % 10 = 0 THEN 1 + i % 1000 END
FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO vouchers (external_id, kind, title, pay_value, face_value, one_per_user, status, created_at, updated_at, shop_id)
SELECT 'voucher:' || i, CASE WHEN i % 2 = 0 THEN 'FLASH' ELSE 'ORDINARY' END, 'Voucher ' || i, 100, 200, true, 'ON_SALE', now(), now(), 1 + i % 18000 FROM generate_series(1::bigint, 100000) AS i;
INSERT INTO flash_sales (id, stock, initial_stock, begins_at, ends_at, partition, buckets, swept_at, voucher_id)
SELECT i, 10, 100, 1700000000000 + i * 3600000, 1700000000000 + i * 7200000, i % 8, 1, CASE WHEN i % 20 > 0 THEN 1700000000000 END, i FROM generate_series(2::bigint, 100000, 2) AS i;
INSERT INTO orders (user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, version, tallied, created_at, pay_before, paid_at)
SELECT 1 + i % 5000, 1 + i % 100000, 1 + i % 18000, CASE WHEN i % 50 = 0 THEN 'UNPAID' WHEN i % 7 = 0 THEN 'CANCELLED' ELSE 'PAID' END, false, i % 2 = 0, 100, 1, i % 60 > 0,
  1700000000000 + i * 60000, 1800000000000 + i * 60000, CASE WHEN i % 50 > 0 AND i % 7 > 0 THEN 1700000000000 + i * 60000 END
FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO payments (attempt, method, amount, state, created_at, updated_at, order_id)
SELECT 1, 'ALIPAY', 100, 'SUCCEEDED', 1700000000000, 1700000000000, i FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO notes (external_id, author_id, shop_id, title, content, images, seq, created_at, deleted_at)
SELECT 'note:' || i, 1 + i % 2000, 1 + i % 5000, 'Note ' || i, 'It was good.', '[]', i, 1700000000000 + i * 1000, CASE WHEN i % 50 = 0 THEN 1700000000000 END FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO note_counts (id, likes, comments, hot, deleted) SELECT i, i % 30, i % 5, 1700000000000 + i * 1000, i % 50 = 0 FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO note_events (seq, kind, note_id, author_id) SELECT i, 'PUBLISHED', i, 1 + i % 2000 FROM generate_series(1::bigint, 20000) AS i;
UPDATE feed_head SET seq = 20000, follows = 100000;
INSERT INTO comments (note_id, author_id, root_id, parent_id, content, created_at)
SELECT 1 + i % 4000, 1 + i % 2000, CASE WHEN i % 3 = 0 THEN 1 + i % 4000 END, CASE WHEN i % 3 = 0 THEN 1 + i % 4000 END, 'Me too.', 1700000000000 FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO likes (kind, target_id, user_id, created_at)
SELECT k, 1 + i % 5000, CASE WHEN i % 10 = 0 THEN 1 ELSE 2 + i % 19000 END, 1700000000000 FROM generate_series(1::bigint, 20000) AS i, unnest(ARRAY['NOTE', 'COMMENT']) AS k ON CONFLICT DO NOTHING;
INSERT INTO follows (follower_id, followee_id, since_seq, created_at)
SELECT CASE WHEN i % 10 = 0 THEN 1 ELSE 2 + i % 15000 END, 2 + (i * 7) % 16001, i, 1700000000000 FROM generate_series(1::bigint, 100000) AS i
WHERE i % 10 = 0 OR 2 + i % 15000 <> 2 + (i * 7) % 16001 ON CONFLICT DO NOTHING;
INSERT INTO check_ins (user_id, month, days, points) SELECT i, 202511, 5, 20 FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO visit_days (shop_id, day, uniques, views, sketch, counter, counted)
SELECT 1 + i % 700, 20260101 + i / 700, 5, 9, ''::bytea, 'x', 9 FROM generate_series(1::bigint, 20000) AS i ON CONFLICT DO NOTHING;
INSERT INTO pictures (hash, format, width, height, bytes, uploader_id, stored, created_at, touched_at)
SELECT md5(i::text), 'png', 10, 10, 100, i % 500, true, 1700000000000 + i, 1700000000000 + i FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO picture_uses (picture_id, kind, owner_id) SELECT i, 'note', i FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO outbox_jobs (topic, payload, created_at, due_at, done_at, keep_until)
SELECT 'topic.' || i % 12, '{}', 1700000000000 + i, 1700000000000 + i, CASE WHEN i % 100 > 0 THEN 1700000000000 END, CASE WHEN i % 100 > 0 THEN 1800000000000 + i END FROM generate_series(1::bigint, 100000) AS i;
DO $$ DECLARE l links; BEGIN
  FOR l IN SELECT * FROM links LOOP EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', l.child, l.conname, l.definition); END LOOP;
END $$;
DROP TABLE links;
ANALYZE;
