package livetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	reader = int64(1)
	ann    = int64(11) // followed from the beginning
	bob    = int64(12) // followed since 2
	cid    = int64(13) // followed by nobody
)

const never = 99 // a number that is not in the log

// s is a time of so many seconds.
func s(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// aRecord is of one client, which is told all that is due to it, one number a second:
//
//	1 ann, 2 cid, 3 bob, 4 ann, 5 bob, 6 cid, 7 ann removes 1, 8 ann
func aRecord() *Record {
	return &Record{
		Events: []Event{
			{1, Added, 101, ann},
			{2, Added, 102, cid},
			{3, Added, 103, bob},
			{4, Added, 104, ann},
			{5, Added, 105, bob},
			{6, Added, 106, cid},
			{7, Removed, 101, ann},
			{8, Added, 108, ann},
		},
		Follows: map[Pair][]Follow{{reader, ann}: {{Since: 0}}, {reader, bob}: {{Since: 2}}},
		Deletes: map[int64]time.Duration{101: s(6.5)},
		Clients: []Client{{User: reader, Told: []Delivered{
			{At: s(0.5), Kind: Ready, Seq: 0},
			{At: s(1), Kind: Added, Seq: 1, Note: 101},
			{At: s(3), Kind: Added, Seq: 3, Note: 103},
			{At: s(4), Kind: Added, Seq: 4, Note: 104},
			{At: s(5), Kind: Added, Seq: 5, Note: 105},
			{At: s(7), Kind: Removed, Seq: 7, Note: 101},
			{At: s(8), Kind: Added, Seq: 8, Note: 108},
		}, Conns: []Conn{{}}}},
	}
}

func (r *Record) client() *Client { return &r.Clients[0] }

// forget takes away what the client was told with a number.
func (r *Record) forget(seq int64) {
	var kept []Delivered
	for _, t := range r.client().Told {
		if t.Seq != seq {
			kept = append(kept, t)
		}
	}
	r.client().Told = kept
}

// tell has the client be told something in some place.
func (r *Record) tell(place int, t Delivered) {
	all := r.client().Told
	r.client().Told = append(append(append([]Delivered{}, all[:place]...), t), all[place:]...)
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		change func(r *Record)
		want   map[Fault]int
	}{
		{"all that is due, once and in order", func(*Record) {}, nil},
		{"one is missing", func(r *Record) { r.forget(4) }, map[Fault]int{Missed: 1}},
		{"a removal is missing", func(r *Record) { r.forget(7) }, map[Fault]int{Missed: 1}},
		{"the last is missing", func(r *Record) { r.forget(8) }, map[Fault]int{Missed: 1}},
		{"the first behind a follow is missing", func(r *Record) { r.forget(3) }, map[Fault]int{Missed: 1}},
		{"nothing was told at all", func(r *Record) { r.client().Told = nil }, map[Fault]int{Missed: 5}}, // 1 is deleted
		{"one is told twice", func(r *Record) { r.tell(3, Delivered{At: s(3.5), Kind: Added, Seq: 3, Note: 103}) }, map[Fault]int{Twice: 1}},
		{"one is told twice, much later", func(r *Record) { r.tell(7, Delivered{At: s(9), Kind: Added, Seq: 3, Note: 103}) }, map[Fault]int{Twice: 1}},
		{"two have changed places", func(r *Record) {
			all := r.client().Told
			all[2], all[3] = all[3], all[2]
		}, map[Fault]int{Disorder: 1}},
		{"somebody who is not followed", func(r *Record) { r.tell(2, Delivered{At: s(2), Kind: Added, Seq: 2, Note: 102}) }, map[Fault]int{Strange: 1}},
		{"before the follow", func(r *Record) { r.Follows[Pair{reader, bob}][0].Since = 3 }, map[Fault]int{Strange: 1}},
		{"a follow of somebody else", func(r *Record) {
			r.Follows[Pair{2, cid}] = []Follow{{}}
			r.tell(2, Delivered{At: s(2), Kind: Added, Seq: 2, Note: 102})
		}, map[Fault]int{Strange: 1}},
		{"a note that was taken back", func(r *Record) { r.tell(7, Delivered{At: s(9), Kind: Added, Seq: never, Note: 999}) }, map[Fault]int{Strange: 1}},
		{"a removal of what stays", func(r *Record) { r.tell(7, Delivered{At: s(9), Kind: Removed, Seq: never, Note: 108}) }, map[Fault]int{Strange: 1}},
		{"a cursor of another number", func(r *Record) { r.client().Told[3].Seq = 5 }, map[Fault]int{Strange: 1}},
		{"a cursor that goes back", func(r *Record) { r.tell(4, Delivered{At: s(4.5), Kind: Ready, Seq: 3}) }, map[Fault]int{Disorder: 1}},

		{"nothing before the first cursor is due", func(r *Record) {
			r.client().From = 4
			r.client().Told = r.client().Told[4:]
		}, nil},
		{"nothing before the first cursor is told", func(r *Record) { r.client().From = 4 }, map[Fault]int{Disorder: 4}},

		{"a note that was deleted before the client had come past it", func(r *Record) {
			r.Deletes[101] = s(0.9)
			r.forget(1)
		}, nil},
		{"a note that was deleted just before it was told", func(r *Record) { r.Deletes[101] = s(0.9) }, nil},
		{"a note that was deleted after the client had come past it", func(r *Record) { r.forget(1) }, map[Fault]int{Missed: 1}},

		{"an unfollow, heard of at once", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(4.5), Late: 6}}
			r.forget(5)
		}, nil},
		{"an unfollow, heard of later", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(4.5), Late: 6}}
		}, nil},
		{"an unfollow that nobody heard of", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(3.5), Late: 4}}
		}, map[Fault]int{Strange: 1}},
		{"an unfollow at the end, when nobody read the head any more", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(3.5)}}
		}, nil},
		{"missing before the unfollow was asked for", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(4.5), Late: 6}}
			r.forget(3)
		}, map[Fault]int{Missed: 1}},
		{"missing before the unfollow was asked for, when the client had not come so far", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(2.5), Late: 6}}
			r.forget(3)
		}, nil},
		{"between two follows", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(3.5), Late: 4}, {Since: 5}}
			r.forget(5)
		}, nil},
		{"told between two follows", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(3.5), Late: 4}, {Since: 5}}
		}, map[Fault]int{Strange: 1}},
		{"missing in the second follow", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, Asked: s(3.5), Late: 3}, {Since: 4}}
			r.forget(5)
		}, map[Fault]int{Missed: 1}},

		{"skipped by a resync", func(r *Record) {
			r.forget(3)
			r.forget(4)
			r.tell(2, Delivered{At: s(4.2), Kind: Resync, Seq: 4})
		}, nil},
		{"missing behind a resync", func(r *Record) {
			r.forget(3)
			r.forget(4)
			r.forget(5)
			r.tell(2, Delivered{At: s(4.2), Kind: Resync, Seq: 4})
		}, map[Fault]int{Missed: 1}},
		{"told again after a resync", func(r *Record) { r.tell(4, Delivered{At: s(4.2), Kind: Resync, Seq: 5}) }, map[Fault]int{Disorder: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := aRecord()
			tt.change(r)
			v := Check(r)
			if tt.want == nil {
				tt.want = map[Fault]int{}
			}
			if d := cmp.Diff(tt.want, v.Counts); d != "" {
				t.Errorf("faults (-want +got):\n%s%v", d, v.Breaches)
			}
			if v.Broken() != (len(tt.want) > 0) {
				t.Errorf("broken is %v", v.Broken())
			}
			for _, b := range v.Breaches {
				if !strings.Contains(b.Text, "user 1") {
					t.Errorf("a breach does not say whose: %s", b.Text)
				}
			}
		})
	}
}

func TestCheckCountsWhatItLookedAt(t *testing.T) {
	r := aRecord()
	r.forget(3)
	r.tell(2, Delivered{At: s(3.5), Kind: Resync, Seq: 3})
	r.Follows[Pair{reader, cid}] = []Follow{{Ended: true, Asked: s(0.1), Late: 6}} // 2 and 6 might have been told
	v := Check(r)
	v.Breaches, v.Counts = nil, nil
	if d := cmp.Diff(Verdict{Due: 5, Told: 5, Free: 1, Skipped: 1, Resyncs: 1, Hasty: 1}, v); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAResyncOfWhoIsFarBehindIsNotHasty(t *testing.T) {
	r := aRecord()
	seq := r.Events[len(r.Events)-1].Seq
	for range resyncBeyond + 1 {
		seq++
		r.Events = append(r.Events, Event{seq, Added, 1000 + seq, ann})
	}
	r.client().Told = append(r.client().Told, Delivered{At: s(9), Kind: Resync, Seq: seq})
	if v := Check(r); v.Broken() || v.Resyncs != 1 || v.Hasty != 0 || v.Skipped != resyncBeyond+1 {
		t.Errorf("%+v", v)
	}
}

// A breach says enough to find the mistake: who, what, by which connection and where it
// should have been.
func TestABreachSaysWhere(t *testing.T) {
	r := aRecord()
	r.client().Conns[0] = Conn{Server: 1, SSE: true, After: 7, Begin: s(0.25)}
	r.forget(4)
	v := Check(r)
	want := []Breach{{Missed, "user 1: 4 (FeedNoteAdded of note 104 by 11), followed since 0; " +
		"before it FeedNoteAdded 3 at 3.000s by stream 0 (server 1, after 7, from 0.250s); " +
		"after it FeedNoteAdded 5 at 5.000s by stream 0 (server 1, after 7, from 0.250s)"}}
	if d := cmp.Diff(want, v.Breaches); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
