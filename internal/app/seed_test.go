package app_test

import (
	"database/sql"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// wantNumbers compares the results of counting queries.
func wantNumbers(t *testing.T, db *sql.DB, want map[string]int) {
	t.Helper()
	for query, n := range want {
		var got int
		if err := db.QueryRow("SELECT " + query).Scan(&got); err != nil || got != n {
			t.Errorf("%s: %d, %v; want %d", query, got, err, n)
		}
	}
}

// miscounted contains queries that count wrong counters.
var miscounted = map[string]int{
	"count(*) FROM note_counts c WHERE likes <> (SELECT count(*) FROM likes l WHERE l.kind = 'NOTE' AND l.target_id = c.id)":                                                        0,
	"count(*) FROM note_counts c WHERE comments <> (SELECT count(*) FROM comments m WHERE m.note_id = c.id)":                                                                        0,
	"count(*) FROM users u WHERE note_count <> (SELECT count(*) FROM notes n WHERE n.author_id = u.id)":                                                                             0,
	"count(*) FROM users u WHERE follower_count <> (SELECT count(*) FROM follows f WHERE f.followee_id = u.id)":                                                                     0,
	"count(*) FROM users u WHERE followee_count <> (SELECT count(*) FROM follows f WHERE f.follower_id = u.id)":                                                                     0,
	"count(*) FROM comments c WHERE reply_count <> (SELECT count(*) FROM comments r WHERE r.root_id = c.id)":                                                                        0,
	"count(*) FROM shops s WHERE comment_count <> (SELECT count(*) FROM comments m JOIN notes n ON n.id = m.note_id WHERE n.shop_id = s.id)":                                        0,
	"count(*) FROM note_counts c WHERE saves <> (SELECT count(*) FROM saves s WHERE s.kind = 'NOTE' AND s.target_id = c.id)":                                                        0,
	"count(*) FROM shops s WHERE save_count <> (SELECT count(*) FROM saves v WHERE v.kind = 'SHOP' AND v.target_id = s.id)":                                                         0,
	"count(*) FROM shops s WHERE stars_1 + stars_2 + stars_3 + stars_4 + stars_5 <> (SELECT count(*) FROM ratings r WHERE r.shop_id = s.id)":                                        0,
	"count(*) FROM shops s WHERE stars_1 + 2 * stars_2 + 3 * stars_3 + 4 * stars_4 + 5 * stars_5 <> (SELECT COALESCE(sum(r.stars), 0) FROM ratings r WHERE r.shop_id = s.id)":       0,
	"count(*) FROM shops s WHERE taste_sum + environment_sum + service_sum <> (SELECT COALESCE(sum(r.taste + r.environment + r.service), 0) FROM ratings r WHERE r.shop_id = s.id)": 0,
	"count(*) FROM ratings r JOIN shops s ON s.id = r.shop_id WHERE r.user_id = s.owner_id":                                                                                         0,
	"count(*) FROM notes n LEFT JOIN note_counts c ON c.id = n.id WHERE c.id IS NULL OR n.seq IS NULL":                                                                              0,
}

func TestFirstStartCreatesDemoActivityOnce(t *testing.T) {
	t.Parallel()
	stack := apptest.Embedded(t)
	for range 2 {
		if err := stack.Start(t).Stop(); err != nil {
			t.Fatal(err)
		}
		db := stack.SQL(t)
		wantNumbers(t, db, map[string]int{
			"count(*) FROM notes": 25, "count(*) FROM likes": 80, "count(*) FROM follows": 40, "count(*) FROM comments": 30,
			"count(*) FROM users WHERE external_id LIKE 'demo:%' AND phone IS NULL": 80,
			"count(*) FROM ratings": 887, "count(*) FROM saves": 285,
			"count(*) FROM saves v JOIN users u ON u.id = v.user_id WHERE u.phone = '+99900000003' AND v.kind = 'SHOP'":                6,
			"count(*) FROM saves v JOIN users u ON u.id = v.user_id WHERE u.phone = '+99900000003' AND v.kind = 'NOTE'":                4,
			"count(*) FROM notes n WHERE NOT EXISTS (SELECT 1 FROM ratings r WHERE r.shop_id = n.shop_id AND r.user_id = n.author_id)": 0,
			"count(*) FROM shops WHERE score > 0 OR (rating_score IS NULL) <> (stars_1 + stars_2 + stars_3 + stars_4 + stars_5 = 0)":   0,
			"count(*) FROM shops WHERE open_hours IS NOT NULL AND open_mask IS NULL":                                                   0,
			"count(*) FROM shops WHERE phone LIKE '+999 %' AND time_zone = 'Asia/Shanghai'":                                            72,
			"count(*) FROM follows f JOIN users u ON u.id = f.follower_id WHERE u.phone = '+99900000003' AND f.since_seq = 0":          4,
		})
		wantNumbers(t, db, miscounted)
	}
}
