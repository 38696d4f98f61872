package seeder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/kit/progress"
)

// MaxUsers is the maximum number of users of a seed.
const MaxUsers = 10_000_000

// seedMerchant is the index of the merchant among the users of a seed.
const seedMerchant = 1

// GenerateUsers yields n synthetic users: an administrator, a merchant, then customers.
// The same seed yields the same users; a smaller n yields a prefix. External ids are
// seed:SEED:INDEX. The users have no phone, so only a session signs them in. It yields at
// most [MaxUsers].
func GenerateUsers(n int, seed uint64) iter.Seq[account.Draft] {
	return func(yield func(account.Draft) bool) {
		source := rand.NewPCG(seed, 0)
		rnd := rand.New(source)
		for i := range min(n, MaxUsers) {
			source.Seed(^seed, uint64(i))
			d := account.Draft{ExternalID: fmt.Sprintf("seed:%d:%d", seed, i), Nickname: nickname(rnd), Role: account.Customer}
			switch i {
			case 0:
				d.Role = account.Admin
			case seedMerchant:
				d.Role = account.Merchant
			}
			if rnd.IntN(3) > 0 {
				d.City = townOf(seed, 1+rnd.IntN(40)).name
			}
			if rnd.IntN(4) == 0 {
				d.Bio = pick(rnd, bios)
			}
			if !yield(d) {
				return
			}
		}
	}
}

// nickname draws a name of two parts, in Chinese or English. One in three ends with a
// number.
func nickname(rnd *rand.Rand) string {
	first, last := pick(rnd, nickFirst), pick(rnd, nickLast)
	name := first.chinese + last.chinese
	if rnd.IntN(5) < 2 {
		name = first.english + last.english
	}
	if rnd.IntN(3) == 0 {
		name += fmt.Sprint(1 + rnd.IntN(999))
	}
	return name
}

// seedUsers stores the users of a plan and returns their ids, in their order. If the plan
// names a file for tokens, it writes a line for each user: global id, role and token of a
// new session, between tabs. The file appears when it is complete, readable only by its
// owner.
func seedUsers(ctx context.Context, accounts Accounts, plan Plan, album *drawing.Album, out io.Writer) (users []int64, err error) {
	tokens, err := newTokenFile(plan.Tokens)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tokens.discard()) }()
	bar := progress.New(out, "users", plan.Users)
	defer bar.Close()
	done := 0
	store := func(chunk []account.Draft) error {
		if err := addAvatars(ctx, album, chunk, done); err != nil {
			return err
		}
		ids, err := accounts.BulkInsert(ctx, chunk, func(more int) { bar.Set(done + more) })
		if err != nil {
			return fmt.Errorf("seed users %d to %d of %d: %w", done, done+len(chunk), plan.Users, err)
		}
		users = append(users, ids...)
		if tokens != nil {
			issued, err := accounts.CreateSessions(ctx, ids)
			if err == nil {
				err = tokens.write(ids, chunk, issued)
			}
			if err != nil {
				return fmt.Errorf("sign in users %d to %d of %d: %w", done, done+len(chunk), plan.Users, err)
			}
		}
		done += len(chunk)
		bar.Set(done)
		return nil
	}
	for chunk := range chunks(GenerateUsers(plan.Users, plan.Seed), seedChunk) {
		if err := store(chunk); err != nil {
			return nil, err
		}
	}
	return users, tokens.commit()
}

// addAvatars gives two of three users an avatar. first is the index of users[0] among
// all.
func addAvatars(ctx context.Context, album *drawing.Album, users []account.Draft, first int) error {
	seen := func(i int) bool { return (first+i)%3 > 0 }
	var motifs []drawing.Motif
	for i := range users {
		if seen(i) {
			motifs = append(motifs, drawing.FaceMotif(first+i))
		}
	}
	if err := album.Fill(ctx, motifs...); err != nil {
		return err
	}
	for i := range users {
		if seen(i) {
			users[i].AvatarURL = album.Path(drawing.FaceMotif(first + i))
		}
	}
	return nil
}

// chunks collects the values of a sequence in slices of n; the last one may be shorter. A
// slice is valid until the next one.
func chunks[T any](all iter.Seq[T], n int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var chunk []T
		for v := range all {
			if chunk = append(chunk, v); len(chunk) == n {
				if !yield(chunk) {
					return
				}
				chunk = chunk[:0]
			}
		}
		if len(chunk) > 0 {
			yield(chunk)
		}
	}
}

// A tokenFile writes a file of sessions. A nil one does nothing.
type tokenFile struct {
	path string // final path; "" if the file is written in place
	file *os.File
	out  *bufio.Writer
}

// newTokenFile creates a temporary file next to path, which reveals at once whether path
// is writable. If path is no regular file, such as a pipe or a terminal, it opens path
// itself.
func newTokenFile(path string) (*tokenFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no file is wanted
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("open token file: %w", err)
		}
		return &tokenFile{"", file, bufio.NewWriter(file)}, nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("create token file: %w", err)
	}
	return &tokenFile{path, file, bufio.NewWriter(file)}, nil
}

func (f *tokenFile) write(ids []int64, drafts []account.Draft, tokens []string) error {
	for i, id := range ids {
		line := strings.Join([]string{scalar.ID{Type: "User", N: id}.String(), string(drafts[i].Role), tokens[i]}, "\t")
		if _, err := f.out.WriteString(line + "\n"); err != nil {
			return fmt.Errorf("write token file: %w", err)
		}
	}
	return nil
}

// commit moves the complete file to its path.
func (f *tokenFile) commit() error {
	if f == nil {
		return nil
	}
	err := errors.Join(f.out.Flush(), f.file.Close())
	if err == nil && f.path != "" {
		err = os.Rename(f.file.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("finish token file: %w", err)
	}
	f.file = nil
	return nil
}

// discard removes a file that is not committed.
func (f *tokenFile) discard() error {
	if f == nil || f.file == nil {
		return nil
	}
	_ = f.file.Close() // commit may have closed it
	if f.path == "" {
		return nil
	}
	return os.Remove(f.file.Name())
}

var nickFirst = []word{
	{"爱吃", "Hungry"},
	{"贪嘴", "Greedy"},
	{"夜宵", "Midnight"},
	{"早起", "Early"},
	{"慢走", "Slow"},
	{"巷口", "Alley"},
	{"湖边", "Lakeside"},
	{"不辣", "Mild"},
	{"特辣", "Spicy"},
	{"微糖", "Sweet"},
	{"加冰", "Iced"},
	{"路过", "Passing"},
	{"周末", "Sunday"},
	{"下雨", "Rainy"},
	{"排队", "Queueing"},
	{"打包", "Takeaway"},
}

var nickLast = []word{
	{"小猫", "Cat"},
	{"小熊", "Bear"},
	{"松鼠", "Squirrel"},
	{"锦鲤", "Carp"},
	{"麻雀", "Sparrow"},
	{"水獭", "Otter"},
	{"团子", "Dumpling"},
	{"豆包", "Bun"},
	{"年糕", "Ricecake"},
	{"汤圆", "Tangyuan"},
	{"馒头", "Mantou"},
	{"咖啡豆", "Bean"},
	{"茶叶", "Tealeaf"},
	{"莲藕", "Lotus"},
	{"柚子", "Pomelo"},
	{"栗子", "Chestnut"},
}

var bios = []string{
	"吃遍城里每一条巷子。",
	"One bowl of noodles at a time.",
	"周末探店，平时做饭。",
	"Coffee first.",
	"不排队，除非是火锅。",
	"Looking for the best dumplings in town.",
	"拍照五分钟，吃饭五十分钟。",
	"I read the menu twice.",
}
