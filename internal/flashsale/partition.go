package flashsale

import (
	"context"
	"fmt"
	"strconv"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/setting"
	"github.com/tandian-dev/tandian/internal/kit/sequence"
)

// Partitions that a first start chooses.
const (
	PartitionsEmbedded = 1
	PartitionsServer   = 8
	PartitionsCluster  = 16

	// Ordinary is the partition of orders that no sale makes: no sale has it.
	Ordinary = sequence.Partitions - 1
)

const (
	partitionsSetting = "sale.partitions"
	buyersPerBucket   = 3000 // on average, of a sale that is sold out
)

// location is where a sale lies in Redis: fixed for its life.
type location struct {
	voucher            int64
	partition, buckets int
}

// bucketOf is the bucket of a user.
func (at location) bucketOf(user int64) int { return int(user % int64(at.buckets)) }

// locate is where a sale lies, without its buckets: they are its row's.
func (g *admitter) locate(voucher int64) location {
	return location{voucher: voucher, partition: int(voucher % int64(g.partitions))}
}

// PartitionFor says where the keys of a new sale will lie: in which partition, and over
// how many buckets its buyers are spread.
func (s *Service) PartitionFor(voucherID int64, stock int) (partition, buckets int) {
	return s.admitter.locate(voucherID).partition, max(1, (stock+buyersPerBucket-1)/buyersPerBucket)
}

// ensurePartitions returns how many partitions there are, for all processes and for
// good: as many as the first start wanted. Later starts write nothing.
func ensurePartitions(ctx context.Context, db *ent.Client, want int) (int, error) {
	if n, err := storedPartitions(ctx, db); n > 0 || err != nil {
		return n, err
	}
	// Ignore, as DoNothing reports that it inserted nothing as an error.
	err := db.Setting.Create().SetID(partitionsSetting).SetValue(strconv.Itoa(want)).
		OnConflict(entsql.ConflictColumns(setting.FieldID)).Ignore().Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("write down the partitions of sales: %w", err)
	}
	n, err := storedPartitions(ctx, db)
	if n == 0 && err == nil {
		err = fmt.Errorf("the setting %s was written and is not there", partitionsSetting)
	}
	return n, err
}

// PartitionsFixed reports whether a process has settled how many partitions there are: else
// [New] writes it down.
func PartitionsFixed(ctx context.Context, db *ent.Client) (bool, error) {
	n, err := storedPartitions(ctx, db)
	return n > 0, err
}

// storedPartitions is how many partitions there are, 0 while nobody has said.
func storedPartitions(ctx context.Context, db *ent.Client) (int, error) {
	row, err := db.Setting.Get(ctx, partitionsSetting)
	if ent.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the partitions of sales: %w", err)
	}
	n, err := strconv.Atoi(row.Value)
	if err != nil || n < 1 || n >= sequence.Partitions {
		return 0, fmt.Errorf("the setting %s is %q: want 1 to %d", partitionsSetting, row.Value, sequence.Partitions-1)
	}
	return n, nil
}
