package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/seeder"
)

// demoTalkJSON is what the people of the demo town write, like and answer, and whom they
// follow. All of it is invented. People, shops and notes go by their NAME, the rest of
// their external id. What comes first is older, and "customer" is the one who logs in.
//
//go:embed activity.json
var demoTalkJSON []byte

// demoCustomer is the name of the demo login who follows some of the people.
const demoCustomer = "customer"

// demoTalk is the file.
type demoTalk struct {
	People []struct {
		Name, Nickname, City, Bio string
	}
	Follows []struct {
		By string
		Of []string
	}
	Notes []demoNote
}

type demoNote struct {
	Name, Author, Shop string
	HoursAgo           int // before the first start
	Title, Content     string
	Likes              []string // the first one first
	Comments           []demoComment
}

type demoComment struct {
	By       string
	HoursAgo int
	Content  string
	Replies  []demoComment
}

func readDemoTalk() (talk demoTalk) {
	if err := json.Unmarshal(demoTalkJSON, &talk); err != nil { // the file is part of the program
		panic(fmt.Sprintf("town: the talk of the demo town: %v", err))
	}
	return talk
}

// Activity counts what the people of the demo town have said and done.
type Activity struct{ People, Notes, Likes, Follows, Comments, CheckIns, Visits int }

// LoadActivity fills the demo town, whose shops are stored, with people and their talk
// of the two weeks before now. customer is the user who follows some of them. It is for
// a town that has none of it: comments would be stored again.
func LoadActivity(ctx context.Context, rooms seeder.Services, customer int64, now time.Time) (Activity, error) {
	d := demoPlanter{talk: readDemoTalk(), rooms: rooms, drawn: drawing.NewAlbum(rooms.Pictures), now: now.Truncate(time.Minute), users: map[string]int64{demoCustomer: customer}}
	for _, step := range []struct {
		of    string
		plant func(context.Context) error
	}{{"people", d.people}, {"follows", d.follows}, {"notes", d.notes}, {"likes", d.likes}, {"comments", d.comments}, {"check-ins", d.checkIns}, {"visits", d.visits}} {
		if err := step.plant(ctx); err != nil {
			return d.done, fmt.Errorf("%s of the demo town: %w", step.of, err)
		}
	}
	return d.done, nil
}

// demoPlanter plants what people say, step by step.
type demoPlanter struct {
	talk    demoTalk
	rooms   seeder.Services
	now     time.Time
	users   map[string]int64 // by name
	noteIDs []int64          // in the order of the notes
	drawn   *drawing.Album
	done    Activity
}

func (d *demoPlanter) ago(hours int) time.Time { return d.now.Add(-time.Duration(hours) * time.Hour) }

// user is the id of somebody by name.
func (d *demoPlanter) user(name string) (int64, error) {
	id, ok := d.users[name]
	if !ok {
		return 0, fmt.Errorf("there is nobody called %q", name)
	}
	return id, nil
}

func (d *demoPlanter) people(ctx context.Context) error {
	drafts := make([]account.Draft, len(d.talk.People))
	motifs := make([]drawing.Motif, len(d.talk.People))
	for i := range motifs {
		motifs[i] = drawing.FaceMotif(i)
	}
	if err := d.drawn.Fill(ctx, motifs...); err != nil {
		return err
	}
	for i, p := range d.talk.People {
		drafts[i] = account.Draft{ExternalID: "demo:" + p.Name, Nickname: p.Nickname, Role: account.Customer, City: p.City, Bio: p.Bio, AvatarURL: d.drawn.Path(motifs[i])}
	}
	ids, err := d.rooms.Accounts.BulkInsert(ctx, drafts, func(int) {})
	if err != nil {
		return err
	}
	for i, p := range d.talk.People {
		d.users[p.Name] = ids[i]
	}
	d.done.People = len(ids)
	return nil
}

// follows comes before notes: what people write is new to those who follow them.
func (d *demoPlanter) follows(ctx context.Context) error {
	var drafts []follow.Draft
	for _, f := range d.talk.Follows {
		follower, err := d.user(f.By)
		if err != nil {
			return err
		}
		for _, name := range f.Of {
			followee, err := d.user(name)
			if err != nil {
				return err
			}
			drafts = append(drafts, follow.Draft{Follower: follower, Followee: followee})
		}
	}
	var err error
	d.done.Follows, err = d.rooms.Follows.BulkInsert(ctx, drafts)
	return err
}

func (d *demoPlanter) notes(ctx context.Context) error {
	names := make([]string, len(d.talk.Notes))
	for i, n := range d.talk.Notes {
		names[i] = "demo:" + n.Shop
	}
	shops, err := d.rooms.Shops.IDsOf(ctx, names)
	if err != nil {
		return err
	}
	drafts := make([]note.Seed, len(d.talk.Notes))
	var motifs []drawing.Motif
	for i := range d.talk.Notes {
		motifs = append(motifs, demoServed(i)...)
	}
	if err := d.drawn.Fill(ctx, motifs...); err != nil {
		return err
	}
	for i, n := range d.talk.Notes {
		author, err := d.user(n.Author)
		if err != nil {
			return err
		}
		if shops[names[i]] == 0 {
			return fmt.Errorf("there is no shop %s", names[i])
		}
		drafts[i] = note.Seed{
			ExternalID: "demo:" + n.Name, AuthorID: author, ShopID: shops[names[i]], Title: n.Title, Content: n.Content, At: d.ago(n.HoursAgo),
			Images: d.drawn.List(demoServed(i)...),
		}
	}
	d.noteIDs, d.done.Notes, err = d.rooms.Notes.BulkInsert(ctx, drafts, func(int) {})
	return err
}

// demoDishes is how many different dishes the notes of the demo town show.
const demoDishes = 6

// demoServed are the dishes that note i shows: two of three notes one, or two.
func demoServed(i int) (motifs []drawing.Motif) {
	for k := range i % 3 {
		motifs = append(motifs, drawing.DishMotif((i+2*k)%demoDishes))
	}
	return motifs
}

func (d *demoPlanter) likes(ctx context.Context) error {
	var drafts []like.Draft
	for i, n := range d.talk.Notes {
		for _, name := range n.Likes {
			user, err := d.user(name)
			if err != nil {
				return err
			}
			drafts = append(drafts, like.Draft{Target: d.noteIDs[i], User: user})
		}
	}
	var err error
	d.done.Likes, err = d.rooms.Likes.BulkInsert(ctx, drafts)
	return err
}

// said are comments that answer the same one, or are the first on a note.
type said struct {
	note     int64
	parent   *int64
	comments []demoComment
}

// comments stores level by level: first what is answered, then the answers.
func (d *demoPlanter) comments(ctx context.Context) error {
	var level []said
	for i, n := range d.talk.Notes {
		level = append(level, said{note: d.noteIDs[i], comments: n.Comments})
	}
	for len(level) > 0 {
		var drafts []comment.Seed
		var replies []said
		for _, s := range level {
			for _, c := range s.comments {
				author, err := d.user(c.By)
				if err != nil {
					return err
				}
				draft := comment.Draft{NoteID: s.note, ParentID: s.parent, Content: c.Content}
				drafts = append(drafts, comment.Seed{Draft: draft, Author: author, At: d.ago(c.HoursAgo)})
				replies = append(replies, said{note: s.note, comments: c.Replies})
			}
		}
		ids, err := d.rooms.Comments.BulkInsert(ctx, drafts)
		if err != nil {
			return err
		}
		for i := range replies {
			replies[i].parent = &ids[i]
		}
		d.done.Comments, level = d.done.Comments+len(ids), replies
	}
	return nil
}

// The demo login has checked in on so many days up to yesterday, so that there is a streak
// to go on with; the others as people do.
const demoStreak = 9

func (d *demoPlanter) checkIns(ctx context.Context) error {
	if d.rooms.CheckIns == nil {
		return nil
	}
	today, rnd := civil.DateOf(d.now), rand.New(rand.NewPCG(1, 0))
	var drafts []checkin.Draft
	for ago := demoStreak; ago >= 1; ago-- {
		drafts = append(drafts, checkin.Draft{User: d.users[demoCustomer], Day: today.Add(-ago)})
	}
	for _, p := range d.talk.People {
		drafts = append(drafts, seeder.GenerateCheckIns(d.users[p.Name], today, rnd)...)
	}
	var err error
	d.done.CheckIns, err = d.rooms.CheckIns.BulkInsert(ctx, drafts)
	return err
}

const demoVisits = 3000 // in a month

func (d *demoPlanter) visits(ctx context.Context) error {
	if d.rooms.Visits == nil {
		return nil
	}
	names := make([]string, 0, len(d.talk.Notes))
	for _, n := range d.talk.Notes {
		names = append(names, "demo:"+n.Shop)
	}
	found, err := d.rooms.Shops.IDsOf(ctx, names)
	if err != nil {
		return err
	}
	users := slices.Sorted(maps.Values(d.users))
	d.done.Visits = demoVisits
	return d.rooms.Visits.BulkInsert(ctx, seeder.GenerateVisits(demoVisits, civil.DateOf(d.now), users, slices.Sorted(maps.Values(found)), 1))
}
