package livetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	reader = int64(1)
	ann    = int64(11) // followed from the start
	bob    = int64(12) // followed since 2
	cid    = int64(13) // followed by no user
)

const never = 99 // a number that is not in the log

// s returns a time in seconds.
func s(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// newRecord returns the record of one client that receives every due message, one number a
// second:
//
//	1 ann, 2 cid, 3 bob, 4 ann, 5 bob, 6 cid, 7 ann removes 1, 8 ann
func newRecord() *Record {
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
		Clients: []Client{{User: reader, Received: []Delivered{
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

// remove removes the received messages with a number.
func (r *Record) remove(seq int64) {
	var left []Delivered
	for _, t := range r.client().Received {
		if t.Seq != seq {
			left = append(left, t)
		}
	}
	r.client().Received = left
}

// insert inserts a received message at an index.
func (r *Record) insert(at int, t Delivered) {
	all := r.client().Received
	r.client().Received = append(append(append([]Delivered{}, all[:at]...), t), all[at:]...)
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		change func(r *Record)
		want   map[Fault]int
	}{
		{"all due, once and in order", func(*Record) {}, nil},
		{"one missing", func(r *Record) { r.remove(4) }, map[Fault]int{Missed: 1}},
		{"removal missing", func(r *Record) { r.remove(7) }, map[Fault]int{Missed: 1}},
		{"last missing", func(r *Record) { r.remove(8) }, map[Fault]int{Missed: 1}},
		{"first after a follow missing", func(r *Record) { r.remove(3) }, map[Fault]int{Missed: 1}},
		{"nothing received", func(r *Record) { r.client().Received = nil }, map[Fault]int{Missed: 5}}, // the publication of 1 is optional, because note 101 is deleted
		{"repeated", func(r *Record) { r.insert(3, Delivered{At: s(3.5), Kind: Added, Seq: 3, Note: 103}) }, map[Fault]int{Twice: 1}},
		{"repeated much later", func(r *Record) { r.insert(7, Delivered{At: s(9), Kind: Added, Seq: 3, Note: 103}) }, map[Fault]int{Twice: 1}},
		{"swapped", func(r *Record) {
			all := r.client().Received
			all[2], all[3] = all[3], all[2]
		}, map[Fault]int{Disorder: 1}},
		{"author not followed", func(r *Record) { r.insert(2, Delivered{At: s(2), Kind: Added, Seq: 2, Note: 102}) }, map[Fault]int{Unexpected: 1}},
		{"before the follow", func(r *Record) { r.Follows[Pair{reader, bob}][0].Since = 3 }, map[Fault]int{Unexpected: 1}},
		{"followed by another user", func(r *Record) {
			r.Follows[Pair{2, cid}] = []Follow{{}}
			r.insert(2, Delivered{At: s(2), Kind: Added, Seq: 2, Note: 102})
		}, map[Fault]int{Unexpected: 1}},
		{"rolled back note", func(r *Record) { r.insert(7, Delivered{At: s(9), Kind: Added, Seq: never, Note: 999}) }, map[Fault]int{Unexpected: 1}},
		{"removal of an existing note", func(r *Record) { r.insert(7, Delivered{At: s(9), Kind: Removed, Seq: never, Note: 108}) }, map[Fault]int{Unexpected: 1}},
		{"wrong cursor", func(r *Record) { r.client().Received[3].Seq = 5 }, map[Fault]int{Unexpected: 1}},
		{"cursor goes back", func(r *Record) { r.insert(4, Delivered{At: s(4.5), Kind: Ready, Seq: 3}) }, map[Fault]int{Disorder: 1}},

		{"nothing before the first cursor is due", func(r *Record) {
			r.client().From = 4
			r.client().Received = r.client().Received[4:]
		}, nil},
		{"messages before the first cursor", func(r *Record) { r.client().From = 4 }, map[Fault]int{Disorder: 4}},

		{"deleted before the client's position", func(r *Record) {
			r.Deletes[101] = s(0.9)
			r.remove(1)
		}, nil},
		{"deleted just before its delivery", func(r *Record) { r.Deletes[101] = s(0.9) }, nil},
		{"deleted after the client's position", func(r *Record) { r.remove(1) }, map[Fault]int{Missed: 1}},

		{"immediate unfollow", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(4.5), MaxSeq: 6}}
			r.remove(5)
		}, nil},
		{"unfollow within the leeway", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(4.5), MaxSeq: 6}}
		}, nil},
		{"unfollow without effect", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(3.5), MaxSeq: 4}}
		}, map[Fault]int{Unexpected: 1}},
		{"unfollow after the last head", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(3.5)}}
		}, nil},
		{"missing before the unfollow", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(4.5), MaxSeq: 6}}
			r.remove(3)
		}, map[Fault]int{Missed: 1}},
		{"missing before the unfollow, ahead of the client", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(2.5), MaxSeq: 6}}
			r.remove(3)
		}, nil},
		{"between two follows", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(3.5), MaxSeq: 4}, {Since: 5}}
			r.remove(5)
		}, nil},
		{"received between two follows", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(3.5), MaxSeq: 4}, {Since: 5}}
		}, map[Fault]int{Unexpected: 1}},
		{"missing in the second follow", func(r *Record) {
			r.Follows[Pair{reader, bob}] = []Follow{{Since: 2, Ended: true, EndRequested: s(3.5), MaxSeq: 3}, {Since: 4}}
			r.remove(5)
		}, map[Fault]int{Missed: 1}},

		{"skipped by a resync", func(r *Record) {
			r.remove(3)
			r.remove(4)
			r.insert(2, Delivered{At: s(4.2), Kind: Resync, Seq: 4})
		}, nil},
		{"missing after a resync", func(r *Record) {
			r.remove(3)
			r.remove(4)
			r.remove(5)
			r.insert(2, Delivered{At: s(4.2), Kind: Resync, Seq: 4})
		}, map[Fault]int{Missed: 1}},
		{"repeated after a resync", func(r *Record) { r.insert(4, Delivered{At: s(4.2), Kind: Resync, Seq: 5}) }, map[Fault]int{Disorder: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecord()
			tt.change(r)
			v := Check(r)
			if tt.want == nil {
				tt.want = map[Fault]int{}
			}
			if d := cmp.Diff(tt.want, v.Counts); d != "" {
				t.Errorf("faults (-want +got):\n%s%v", d, v.Breaches)
			}
			if v.Broken() != (len(tt.want) > 0) {
				t.Errorf("got broken %v", v.Broken())
			}
			for _, b := range v.Breaches {
				if !strings.Contains(b.Text, "user 1") {
					t.Errorf("got breach %q, want its user in it", b.Text)
				}
			}
		})
	}
}

func TestCheckCountsMessages(t *testing.T) {
	r := newRecord()
	r.remove(3)
	r.insert(2, Delivered{At: s(3.5), Kind: Resync, Seq: 3})
	r.Follows[Pair{reader, cid}] = []Follow{{Ended: true, EndRequested: s(0.1), MaxSeq: 6}} // 2 and 6 are optional
	v := Check(r)
	v.Breaches, v.Counts = nil, nil
	if d := cmp.Diff(Verdict{Due: 5, Received: 5, Free: 1, Skipped: 1, Resyncs: 1, Premature: 1}, v); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestResyncFarBehindIsNotPremature(t *testing.T) {
	r := newRecord()
	seq := r.Events[len(r.Events)-1].Seq
	for range resyncBeyond + 1 {
		seq++
		r.Events = append(r.Events, Event{seq, Added, 1000 + seq, ann})
	}
	r.client().Received = append(r.client().Received, Delivered{At: s(9), Kind: Resync, Seq: seq})
	if v := Check(r); v.Broken() || v.Resyncs != 1 || v.Premature != 0 || v.Skipped != resyncBeyond+1 {
		t.Errorf("got %+v, want one FeedResync that is not premature", v)
	}
}

// A breach contains everything that is needed to find the mistake: user, event, connection
// and position.
func TestBreachDescribesPosition(t *testing.T) {
	r := newRecord()
	r.client().Conns[0] = Conn{Server: 1, SSE: true, After: 7, Begin: s(0.25)}
	r.remove(4)
	v := Check(r)
	want := []Breach{{Missed, "user 1: 4 (FeedNoteAdded of note 104 by 11), followed since 0; " +
		"before it FeedNoteAdded 3 at 3.000s by stream 0 (server 1, after 7, from 0.250s); " +
		"after it FeedNoteAdded 5 at 5.000s by stream 0 (server 1, after 7, from 0.250s)"}}
	if d := cmp.Diff(want, v.Breaches); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
