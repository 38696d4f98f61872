package seeder

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
)

// MaxNotes bounds how many notes a seed can have.
const MaxNotes = 10_000_000

const (
	noteSpan = 60 * 24 * time.Hour // the notes of a seed are spread over it, up to now

	flatWriting = 1 - 1/1.2 // a few write much
	flatVisited = 0.5       // and some shops are written about more than others

	// A note has 4 likes on average, most have one or two, and one in a thousand has a
	// hundred and more.
	likeScale, likeTail = 2.7, 1.5
	maxLikes            = 2000
	// Half of the likes are by sixty or so users. They are drawn among as many users as
	// there may ever be: those of users that a plan does not have are left out, so that
	// more users add likes and change none. A small town therefore has fewer of them.
	likerScale, likerTail = 50.0, 0.8
)

// A Note is a note of a seed. Users and shops are known by their place among [GenerateUsers]
// and in the [GenerateShops].
type Note struct {
	ExternalID     string
	Author, Shop   int
	Title, Content string
	Moment         float64 // when it is written, in the share of time that each note has: from 0, below 1
	Likers         []int   // each once, the first one first
}

// GenerateNotes yields n notes by users, about shops; there must be one of each. A few users
// write much. Titles and contents are plain text, in Chinese or in English, short or
// long. How many like a note is distributed by a power law, with a mean of about 4 where
// there are some thousand users. The same seed and numbers of users and shops always give
// the same ones, and a smaller n the first of those of a larger one. External ids are
// seed:SEED:INDEX. More than [MaxNotes] are not yielded.
func GenerateNotes(n, users, shops int, seed uint64) iter.Seq[Note] {
	return func(yield func(Note) bool) {
		source := rand.NewPCG(seed, 0)
		w := writer{seed: seed, users: users, shops: shops, source: source, rnd: rand.New(source)}
		for i := range min(n, MaxNotes) {
			if !yield(w.next(i)) {
				return
			}
		}
	}
}

// A writer makes the notes of a seed.
type writer struct {
	seed         uint64
	users, shops int
	source       *rand.PCG
	rnd          *rand.Rand // of the note in hand
}

func (w *writer) next(i int) Note {
	// Far from the numbers by which shops and people are drawn.
	w.source.Seed(w.seed, 1<<63|uint64(i))
	n := Note{
		ExternalID: fmt.Sprintf("seed:%d:%d", w.seed, i),
		Author:     ranked(rank(w.rnd, w.users, flatWriting), w.users),
		Shop:       rank(w.rnd, w.shops, flatVisited),
		Moment:     w.rnd.Float64(),
	}
	n.Title, n.Content = w.text()
	n.Likers = w.likers() // last, so that it may draw as often as it likes
	return n
}

// likers draws who likes a note.
func (w *writer) likers() (users []int) {
	for range tailed(w.rnd, likeScale, likeTail, maxLikes) {
		rank := tailed(w.rnd, likerScale, likerTail, MaxUsers)
		if user := rank + 2; user < w.users && !slices.Contains(users, user) {
			users = append(users, user)
		}
	}
	return users
}

// text draws a title and a content: two in three in Chinese; mostly a few sentences, now
// and then a long report.
func (w *writer) text() (title, content string) {
	words, space := &chineseWords, ""
	if w.rnd.IntN(3) == 0 {
		words, space = &englishWords, " "
	}
	sentences := 2 + w.rnd.IntN(4)
	if w.rnd.IntN(8) == 0 {
		sentences = 8 + w.rnd.IntN(9)
	}
	var b strings.Builder
	for i, at := range w.rnd.Perm(len(words.sentences))[:sentences] {
		switch {
		case i > 0 && w.rnd.IntN(4) == 0:
			b.WriteString("\n")
		case i > 0:
			b.WriteString(space)
		}
		b.WriteString(w.fill(words.sentences[at], words))
	}
	return w.fill(pick(w.rnd, words.titles), words), b.String()
}

// fill puts words into the gaps of a template.
func (w *writer) fill(template string, words *noteWords) string {
	return strings.NewReplacer(
		"{minutes}", strconv.Itoa(5*(1+w.rnd.IntN(12))),
		"{times}", strconv.Itoa(2+w.rnd.IntN(7)),
		"{who}", pick(w.rnd, words.who),
		"{when}", pick(w.rnd, words.when),
	).Replace(template)
}

// seedNotes stores the notes of a plan, by users and about shops, and their likes.
func seedNotes(ctx context.Context, rooms Services, plan Plan, users, shops []int64, drawn *drawing.Album, out io.Writer) error {
	bar := progress.New(out, "notes", plan.Notes)
	defer bar.Close()
	// Later notes are younger: what is stored later is listed as newer.
	first, each := time.Now().Add(-noteSpan), float64(noteSpan)/float64(plan.Notes)
	done, added, likes := 0, 0, 0
	store := func(chunk []Note) error {
		var motifs []drawing.Motif
		for i := range chunk {
			motifs = append(motifs, served(done+i)...)
		}
		if err := drawn.Fill(ctx, motifs...); err != nil {
			return err
		}
		notes := make([]note.Seed, len(chunk))
		for i, n := range chunk {
			notes[i] = note.Seed{
				ExternalID: n.ExternalID, AuthorID: users[n.Author], ShopID: shops[n.Shop], Title: n.Title, Content: n.Content,
				Images: drawn.List(served(done + i)...), At: first.Add(time.Duration((float64(done+i) + n.Moment) * each)),
			}
		}
		ids, more, err := rooms.Notes.BulkInsert(ctx, notes, func(more int) { bar.Set(done + more) })
		if err != nil {
			return err
		}
		liked, err := plantLikes(ctx, rooms.Likes, likesOf(chunk, ids, users))
		done, added, likes = done+len(chunk), added+more, likes+liked
		return err
	}
	for chunk := range chunks(GenerateNotes(plan.Notes, plan.Users, plan.Shops, plan.Seed), seedChunk) {
		from := done
		if err := store(chunk); err != nil {
			return fmt.Errorf("seed notes %d to %d of %d: %w", from, from+len(chunk), plan.Notes, err)
		}
		bar.Set(done)
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d notes added, %d unchanged, %d likes added\n", added, done-added, likes); err != nil {
		return fmt.Errorf("seed: print the tally: %w", err)
	}
	return nil
}

// served are the dishes that note i shows: none, one, two or three.
func served(i int) (motifs []drawing.Motif) {
	for k := range i * 7 % 4 {
		motifs = append(motifs, drawing.DishMotif(i*5+k*7))
	}
	return motifs
}

// likesOf are the likes of notes that were stored under ids.
func likesOf(notes []Note, ids, users []int64) (drafts []like.Draft) {
	for i, n := range notes {
		for _, user := range n.Likers {
			drafts = append(drafts, like.Draft{Target: ids[i], User: users[user]})
		}
	}
	return drafts
}

// plantLikes stores likes and returns how many are new.
func plantLikes(ctx context.Context, into Likes, drafts []like.Draft) (added int, err error) {
	for some := range slices.Chunk(drafts, seedChunk) {
		more, err := into.BulkInsert(ctx, some)
		if err != nil {
			return added, err
		}
		added += more
	}
	return added, nil
}
