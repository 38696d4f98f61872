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

	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
)

// MaxNotes is the maximum number of notes of a seed.
const MaxNotes = 10_000_000

const (
	flatWriting = 1 - 1/1.2 // few users write many notes
	flatVisited = 0.5       // some shops have more notes than others

	// A note has 4 likes on average. Most notes have one or two, one in a thousand has a
	// hundred or more.
	likeScale, likeTail = 2.7, 1.5
	maxLikes            = 2000
	// About sixty users make half of the likes. Likers are drawn among MaxUsers users,
	// and those beyond the users of the plan are dropped. Therefore more users only add
	// likes, and a small seed has fewer likes.
	likerScale, likerTail = 50.0, 0.8
)

// A Note is a note of a seed. Users and shops are indexes in [GenerateUsers] and
// [GenerateShops].
type Note struct {
	ExternalID     string
	Author, Shop   int
	Title, Content string
	Moment         float64 // in [0, 1), see moments
	Likers         []int   // distinct, the first liker first
}

// GenerateNotes yields n notes by users about shops; both must be at least 1. A few users
// write many notes. Titles and contents are plain text, in Chinese or English, short or
// long. Likes per note follow a power law, with a mean of about 4 for some thousand
// users. The same seed and numbers of users and shops yield the same notes; a smaller n
// yields a prefix. External ids are seed:SEED:INDEX. It yields at most [MaxNotes].
func GenerateNotes(n, users, shops int, seed uint64) iter.Seq[Note] {
	return func(yield func(Note) bool) {
		source := rand.NewPCG(seed, 0)
		w := noteGenerator{seed: seed, users: users, shops: shops, source: source, rnd: rand.New(source)}
		for i := range min(n, MaxNotes) {
			if !yield(w.next(i)) {
				return
			}
		}
	}
}

// A noteGenerator yields the notes of a seed.
type noteGenerator struct {
	seed         uint64
	users, shops int
	source       *rand.PCG
	rnd          *rand.Rand // of the current note
}

func (w *noteGenerator) next(i int) Note {
	// Disjoint from the sequences of shops and users.
	w.source.Seed(w.seed, 1<<63|uint64(i))
	n := Note{
		ExternalID: fmt.Sprintf("seed:%d:%d", w.seed, i),
		Author:     userOfRank(rank(w.rnd, w.users, flatWriting), w.users),
		Shop:       rank(w.rnd, w.shops, flatVisited),
		Moment:     w.rnd.Float64(),
	}
	n.Title, n.Content = w.text()
	n.Likers = w.likers() // last, because it draws a varying number of times
	return n
}

// likers draws the likers of a note.
func (w *noteGenerator) likers() (users []int) {
	for range lomax(w.rnd, likeScale, likeTail, maxLikes) {
		rank := lomax(w.rnd, likerScale, likerTail, MaxUsers)
		if user := rank + 2; user < w.users && !slices.Contains(users, user) {
			users = append(users, user)
		}
	}
	return users
}

// text draws a title and a content. Two in three are in Chinese. Most have a few
// sentences, one in eight is long.
func (w *noteGenerator) text() (title, content string) {
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

// fill replaces the placeholders of a template.
func (w *noteGenerator) fill(template string, words *noteWords) string {
	return strings.NewReplacer(
		"{minutes}", strconv.Itoa(5*(1+w.rnd.IntN(12))),
		"{times}", strconv.Itoa(2+w.rnd.IntN(7)),
		"{who}", pick(w.rnd, words.who),
		"{when}", pick(w.rnd, words.when),
	).Replace(template)
}

// seedNotes stores the notes of a plan and their likes.
func seedNotes(ctx context.Context, services Services, plan Plan, users, shops []int64, album *drawing.Album, out io.Writer) error {
	bar := progress.New(out, "notes", plan.Notes)
	defer bar.Close()
	// Later notes are newer, because lists order notes by insertion.
	at := moments(plan.Notes)
	done, added, likes := 0, 0, 0
	store := func(chunk []Note) error {
		var motifs []drawing.Motif
		for i := range chunk {
			motifs = append(motifs, dishesOf(done+i)...)
		}
		if err := album.Fill(ctx, motifs...); err != nil {
			return err
		}
		notes := make([]note.Seed, len(chunk))
		for i, n := range chunk {
			notes[i] = note.Seed{
				ExternalID: n.ExternalID, AuthorID: users[n.Author], ShopID: shops[n.Shop], Title: n.Title, Content: n.Content,
				Images: album.List(dishesOf(done + i)...), At: at(done+i, n.Moment),
			}
		}
		ids, more, err := services.Notes.BulkInsert(ctx, notes, func(more int) { bar.Set(done + more) })
		if err != nil {
			return err
		}
		liked, err := insertLikes(ctx, services.Likes, likesOf(chunk, ids, users))
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
		return fmt.Errorf("print the totals of notes: %w", err)
	}
	return nil
}

// dishesOf returns the dishes of note i: none to three.
func dishesOf(i int) (motifs []drawing.Motif) {
	for k := range i * 7 % 4 {
		motifs = append(motifs, drawing.DishMotif(i*5+k*7))
	}
	return motifs
}

// likesOf returns the likes of notes that are stored under ids.
func likesOf(notes []Note, ids, users []int64) (drafts []like.Draft) {
	for i, n := range notes {
		for _, user := range n.Likers {
			drafts = append(drafts, like.Draft{Target: ids[i], User: users[user]})
		}
	}
	return drafts
}

// insertLikes stores likes and returns the number of new ones.
func insertLikes(ctx context.Context, into Likes, drafts []like.Draft) (added int, err error) {
	for some := range slices.Chunk(drafts, seedChunk) {
		more, err := into.BulkInsert(ctx, some)
		if err != nil {
			return added, err
		}
		added += more
	}
	return added, nil
}
