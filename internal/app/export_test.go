package app

// What tests of several rooms join them by, without a whole House.
type (
	CountedUsers = countedUsers
	FeedRooms    = feedRooms
)

// FeedRoomsOf joins the rooms of h that the feed needs, once they are there.
func FeedRoomsOf(h *House) FeedRooms { return feedRooms{h} }
