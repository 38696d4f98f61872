package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/seeder"
)

// activityJSON contains the users of the demo town and their notes, likes, follows,
// comments, ratings and saves. Everything is invented. Users, shops and notes have the NAME
// of their external id demo:NAME. Lists are in chronological order. "customer" is the demo
// login.
//
//go:embed activity.json
var activityJSON []byte

// customerName is the name of the demo customer, who follows some of the users.
const customerName = "customer"

// activityFile is the content of activity.json.
type activityFile struct {
	People []struct {
		Name, Nickname, City, Bio string
	}
	Follows []struct {
		By string
		Of []string
	}
	Saved   struct{ Shops, Notes []string } // by the customer
	Ratings map[string][5]int               // by shop: number of ratings by stars, one star first
	Notes   []noteEntry
}

type noteEntry struct {
	Name, Author, Shop string
	HoursAgo           int // before the now of LoadActivity
	Stars              int // of the author's rating of the shop
	Title, Content     string
	Likes              []string // in chronological order
	Comments           []commentEntry
}

type commentEntry struct {
	By       string
	HoursAgo int
	Content  string
	Replies  []commentEntry
}

func readActivity() (file activityFile) {
	if err := json.Unmarshal(activityJSON, &file); err != nil { // an embedded file
		panic(fmt.Sprintf("demo: read activity: %v", err))
	}
	return file
}

// Activity counts the activity of the users of the demo town.
type Activity struct {
	People, Notes, Likes, Follows, Comments, Ratings, Saves, CheckIns, Visits int
}

// LoadActivity fills the demo town, whose shops must be stored, with users and their
// activity of the weeks before now. customer is the user who follows some of them. Call it
// once: a second call stores the comments again.
func LoadActivity(ctx context.Context, services seeder.Services, customer int64, now time.Time) (Activity, error) {
	d := loader{file: readActivity(), services: services, album: drawing.NewAlbum(services.Pictures), now: now.Truncate(time.Minute), users: map[string]int64{customerName: customer}}
	for _, step := range []struct {
		of   string
		load func(context.Context) error
	}{
		{"people", d.people},
		{"follows", d.follows},
		{"shops", d.findShops},
		{"notes", d.notes},
		{"likes", d.likes},
		{"comments", d.comments},
		{"ratings", d.ratings},
		{"saves", d.saves},
		{"check-ins", d.checkIns},
		{"visits", d.visits},
	} {
		if err := step.load(ctx); err != nil {
			return d.done, fmt.Errorf("load %s of the demo town: %w", step.of, err)
		}
	}
	return d.done, nil
}

// A loader stores the activity step by step.
type loader struct {
	file     activityFile
	services seeder.Services
	now      time.Time
	users    map[string]int64 // by name
	shops    map[string]int64 // by external id
	noteIDs  []int64          // in the order of the notes
	rated    []rating.Seed
	album    *drawing.Album
	done     Activity
}

func (d *loader) ago(hours int) time.Time { return d.now.Add(-time.Duration(hours) * time.Hour) }

// user returns the id of a user by name.
func (d *loader) user(name string) (int64, error) {
	id, ok := d.users[name]
	if !ok {
		return 0, fmt.Errorf("unknown user %q", name)
	}
	return id, nil
}

// shop returns the id of a shop by name.
func (d *loader) shop(name string) (int64, error) {
	id, ok := d.shops["demo:"+name]
	if !ok {
		return 0, fmt.Errorf("shop demo:%s not found", name)
	}
	return id, nil
}

func (d *loader) findShops(ctx context.Context) (err error) {
	var names []string
	for _, s := range Shops() { //nolint:contextcheck // reads a small file in memory
		names = append(names, s.ExternalID)
	}
	d.shops, err = d.services.Shops.IDsByExternalID(ctx, names)
	return err
}

func (d *loader) people(ctx context.Context) error {
	drafts := make([]account.Draft, len(d.file.People), len(d.file.People)+guests)
	motifs := make([]drawing.Motif, len(d.file.People))
	for i := range motifs {
		motifs[i] = drawing.FaceMotif(i)
	}
	if err := d.album.Fill(ctx, motifs...); err != nil {
		return err
	}
	for i, p := range d.file.People {
		drafts[i] = account.Draft{ExternalID: "demo:" + p.Name, Nickname: p.Nickname, Role: account.Customer, City: p.City, Bio: p.Bio, AvatarURL: d.album.Path(motifs[i])}
	}
	drafts = append(drafts, guestDrafts()...)
	ids, err := d.services.Accounts.BulkInsert(ctx, drafts, func(int) {})
	if err != nil {
		return err
	}
	for i, draft := range drafts {
		d.users[strings.TrimPrefix(draft.ExternalID, "demo:")] = ids[i]
	}
	d.done.People = len(ids)
	return nil
}

// follows runs before notes, so that the notes are new to followers.
func (d *loader) follows(ctx context.Context) error {
	var drafts []follow.Draft
	for _, f := range d.file.Follows {
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
	d.done.Follows, err = d.services.Follows.BulkInsert(ctx, drafts)
	return err
}

func (d *loader) notes(ctx context.Context) error {
	drafts := make([]note.Seed, len(d.file.Notes))
	var motifs []drawing.Motif
	for i := range d.file.Notes {
		motifs = append(motifs, dishesOf(i)...)
	}
	if err := d.album.Fill(ctx, motifs...); err != nil {
		return err
	}
	for i, n := range d.file.Notes {
		author, err := d.user(n.Author)
		if err != nil {
			return err
		}
		shop, err := d.shop(n.Shop)
		if err != nil {
			return err
		}
		drafts[i] = note.Seed{
			ExternalID: "demo:" + n.Name, AuthorID: author, ShopID: shop, Title: n.Title, Content: n.Content, At: d.ago(n.HoursAgo),
			Images: d.album.List(dishesOf(i)...),
		}
	}
	var err error
	d.noteIDs, d.done.Notes, err = d.services.Notes.BulkInsert(ctx, drafts, func(int) {})
	return err
}

// dishCount is the number of different dishes on the notes.
const dishCount = 6

// dishesOf returns the dishes of note i: none, one or two.
func dishesOf(i int) (motifs []drawing.Motif) {
	for k := range i % 3 {
		motifs = append(motifs, drawing.DishMotif((i+2*k)%dishCount))
	}
	return motifs
}

func (d *loader) likes(ctx context.Context) error {
	var drafts []like.Draft
	for i, n := range d.file.Notes {
		for _, name := range n.Likes {
			user, err := d.user(name)
			if err != nil {
				return err
			}
			drafts = append(drafts, like.Draft{Target: d.noteIDs[i], User: user})
		}
	}
	var err error
	d.done.Likes, err = d.services.Likes.BulkInsert(ctx, drafts)
	return err
}

// A thread is a list of replies to one comment, or of the top-level comments on a note.
type thread struct {
	note     int64
	parent   *int64
	comments []commentEntry
}

// comments stores level by level: comments before their replies.
func (d *loader) comments(ctx context.Context) error {
	var level []thread
	for i, n := range d.file.Notes {
		level = append(level, thread{note: d.noteIDs[i], comments: n.Comments})
	}
	for len(level) > 0 {
		var drafts []comment.Seed
		var replies []thread
		for _, s := range level {
			for _, c := range s.comments {
				author, err := d.user(c.By)
				if err != nil {
					return err
				}
				draft := comment.Draft{NoteID: s.note, ParentID: s.parent, Content: c.Content}
				drafts = append(drafts, comment.Seed{Draft: draft, Author: author, At: d.ago(c.HoursAgo)})
				replies = append(replies, thread{note: s.note, comments: c.Replies})
			}
		}
		ids, err := d.services.Comments.BulkInsert(ctx, drafts)
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

// streakDays is the check-in streak of the demo customer up to yesterday, which they can
// continue.
const streakDays = 9

func (d *loader) checkIns(ctx context.Context) error {
	if d.services.CheckIns == nil {
		return nil
	}
	today, rnd := civil.DateOf(d.now), rand.New(rand.NewPCG(1, 0))
	var drafts []checkin.Draft
	for ago := streakDays; ago >= 1; ago-- {
		drafts = append(drafts, checkin.Draft{User: d.users[customerName], Day: today.Add(-ago)})
	}
	for _, p := range d.file.People {
		drafts = append(drafts, seeder.GenerateCheckIns(d.users[p.Name], today, rnd)...)
	}
	var err error
	d.done.CheckIns, err = d.services.CheckIns.BulkInsert(ctx, drafts)
	return err
}

const monthVisits = 3000 // in the 30 days before now

func (d *loader) visits(ctx context.Context) error {
	if d.services.Visits == nil {
		return nil
	}
	var shops []int64
	for _, n := range d.file.Notes {
		id, err := d.shop(n.Shop)
		if err != nil {
			return err
		}
		shops = append(shops, id)
	}
	users := slices.Sorted(maps.Values(d.users))
	d.done.Visits = monthVisits
	return d.services.Visits.BulkInsert(ctx, seeder.GenerateVisits(monthVisits, civil.DateOf(d.now), users, slices.Compact(slices.Sorted(slices.Values(shops))), 1))
}
