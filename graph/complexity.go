package graph

import (
	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/voucher"
)

const (
	assumedList = 20  // assumed length of a list without a size argument
	maxSessions = 100 // per user
	maxRanges   = 5   // assumed opening ranges of a day
)

// Additional costs of a list of shops, in fields. A geographic query or a search takes the
// stores about as long as the output of that many fields.
const (
	nearCost          = 50
	nearestSortedCost = 500
	searchCost        = 100
	filterCost        = 50
)

// complexity sets the cost of list fields: the cost of an element times the length.
func complexity(c *generated.ComplexityRoot) {
	c.Query.Nodes = func(child int, ids []scalar.ID) int { return times(len(ids), child) }
	c.Query.ShopTypes = func(child int) int { return times(assumedList, child) }
	c.Query.Shops = func(child int, filter *model.ShopFilter, near *model.NearInput, orderBy *shop.Order, first int, _ *page.Cursor) int {
		cost := times(first, child)
		if near != nil {
			cost += nearCost
			if orderBy != nil && *orderBy != shop.ByDistance {
				cost += nearestSortedCost
			}
		}
		if filter != nil && filter.Search != nil {
			cost += searchCost
		}
		if filter != nil && (filter.OpenNow != nil || filter.MinScore != nil || filter.MinPrice != nil || filter.MaxPrice != nil ||
			filter.HasVoucher != nil || filter.HasFlashSale != nil) {
			cost += filterCost
		}
		return cost
	}
	first := func(child, first int, _ *page.Cursor) int { return times(first, child) }
	c.Query.HotNotes, c.Shop.Notes, c.User.Notes = first, first, first
	c.User.SavedShops, c.User.SavedNotes = first, first
	c.Query.ShopRanking = func(child int, _ shop.RankingKind, _ *scalar.ID, n int, after *page.Cursor) int {
		return first(child, n, after)
	}
	c.OpeningHours.Week = func(child int) int { return times(7, child) }
	c.OpeningDay.Ranges = func(child int) int { return times(maxRanges, child) }
	c.User.Feed = func(child, n int, after *page.Cursor) int { return feedCost + first(child, n, after) }
	c.Note.Comments, c.Comment.Replies = first, first
	c.User.Followers, c.User.Followees = first, first
	c.User.CommonFollowees = func(child, n int, after *page.Cursor) int { return commonCost + first(child, n, after) }
	c.Note.FirstLikers = func(child, first int) int { return times(first, child) }
	c.Note.Images = func(child int) int { return times(9, child) }
	c.User.Shops = func(child, first int, _ *page.Cursor) int { return times(first, child) }
	c.User.Sessions = func(child int) int { return times(maxSessions, child) }
	c.User.Orders = func(child int, _ []order.Status, first int, _ *page.Cursor) int { return times(first, child) }
	c.Shop.Orders = func(child int, _ []order.Status, first int, _ *page.Cursor) int { return times(first, child) }
	c.Query.DisputedOrders = c.User.Orders
	c.Shop.Vouchers = func(child int) int { return times(assumedList, child) }
	c.Shop.SalesByDay = days
	c.Query.SalesByDay = days
	c.Shop.VisitsByDay, c.Query.SiteStats = days, days
	c.Shop.Visits = func(child int, from, to civil.Date) int { return days(0, from, to) + child }
	c.CheckInMonth.Days = func(child int) int { return times(31, child) }
	c.Query.FlashSales = func(child int, _ []voucher.Phase, first int, _ *page.Cursor) int { return times(first, child) }
	c.Query.CacheStats = func(child int) int { return times(assumedList, child) }
	c.Query.QueueStats = func(child int) int { return times(assumedList, child) }
	c.Query.HotKeys = func(child, top int) int { return times(top, child) }
	c.Shop.Images = func(child int) int { return times(9, child) }
}

// commonCost is the additional cost of common followees, in fields: the query reads up to
// 5000 members and checks each of them.
const commonCost = 200

// feedCost is the additional cost of a feed. A deep page of a user with many followees
// reads the rows of all of them.
const feedCost = 100

const daysCost = 50 // additional cost of sales or visits by day, in fields

func days(child int, from, to civil.Date) int {
	return daysCost + times(min(civil.Days(from, to), order.MaxSalesDays), child)
}

// times returns 1 + n·child, with n and child limited so that it neither overflows nor
// reduces a sum. The service rejects an invalid page size.
func times(n, child int) int { return 1 + min(max(n, 1), 10*page.Max)*min(child, 1<<20) }
