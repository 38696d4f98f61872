package app_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const aFeed = `query F($first: Int!, $after: Cursor) { me { feed(first: $first, after: $after) { liveCursor pageInfo { hasNextPage endCursor } edges { cursor node { id title author { id } } } } } }`

// A feedPage is what aFeed answers.
type feedPage struct {
	Me struct {
		Feed struct {
			LiveCursor string
			PageInfo   struct {
				HasNextPage bool
				EndCursor   *string
			}
			Edges []struct {
				Cursor string
				Node   struct{ ID, Title string }
			}
		}
	}
}

// titles are the titles of a whole feed, read in pages.
func titles(t *testing.T, as *apptest.Server, first int) []string {
	t.Helper()
	list := []string{}
	var after *string
	for {
		var p feedPage
		as.Must(t, aFeed, map[string]any{"first": first, "after": after}, &p)
		for _, e := range p.Me.Feed.Edges {
			list = append(list, e.Node.Title)
		}
		if !p.Me.Feed.PageInfo.HasNextPage {
			return list
		}
		after = p.Me.Feed.PageInfo.EndCursor
	}
}

func TestAFeedShowsWhatThoseWriteWhomOneFollows(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		m := opened(t, stack, 3)
		s := stack.Start(t)
		reader, ann, bob := s.As(m.customers[0].token), s.As(m.customers[1].token), s.As(m.customers[2].token)
		shows := func(want ...string) {
			t.Helper()
			for _, first := range []int{1, 2, 100} {
				if diff := cmp.Diff(append([]string{}, want...), titles(t, reader, first)); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", first, diff)
				}
			}
		}
		shows()
		for i := range 3 {
			m.note(t, ann, fmt.Sprint("ann ", i))
		}
		shows()
		reader.Must(t, followUser, map[string]any{"id": m.customers[1].id}, nil)
		shows("ann 2", "ann 1", "ann 0")
		bobs := m.note(t, bob, "bob 0")
		third := m.note(t, ann, "ann 3")
		shows("ann 3", "ann 2", "ann 1", "ann 0")
		reader.Must(t, followUser, map[string]any{"id": m.customers[2].id}, nil)
		shows("ann 3", "bob 0", "ann 2", "ann 1", "ann 0")
		ann.Must(t, deleteNote, map[string]any{"id": third}, nil)
		shows("bob 0", "ann 2", "ann 1", "ann 0")
		reader.Must(t, unfollow, map[string]any{"id": m.customers[1].id}, nil)
		shows("bob 0")
		m.note(t, ann, "ann 4")
		shows("bob 0")
		reader.Must(t, followUser, map[string]any{"id": m.customers[1].id}, nil)
		shows("ann 4", "bob 0", "ann 2", "ann 1", "ann 0")
		bob.Must(t, deleteNote, map[string]any{"id": bobs}, nil)
		shows("ann 4", "ann 2", "ann 1", "ann 0")
		_ = slices.Clone[[]int]
	})
}
