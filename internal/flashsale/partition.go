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

// Partition counts for the first start.
const (
	PartitionsEmbedded = 1
	PartitionsServer   = 8
	PartitionsCluster  = 16

	// OrdinaryPartition is the partition of orders outside of flash sales. No sale uses it.
	OrdinaryPartition = sequence.Partitions - 1
)

const (
	partitionsSetting = "sale.partitions"
	buyersPerBucket   = 3000 // average of a sold-out sale
)

// location identifies the Redis keys of a sale. It never changes.
type location struct {
	voucher            int64
	partition, buckets int
}

func (at location) bucketOf(user int64) int { return int(user % int64(at.buckets)) }

// locate returns the location of a sale without its buckets, which are in its row.
func (g *admitter) locate(voucher int64) location {
	return location{voucher: voucher, partition: int(voucher % int64(g.partitions))}
}

// PartitionFor returns the partition of a new sale, and the number of buckets for its buyers.
func (s *Service) PartitionFor(voucherID int64, stock int) (partition, buckets int) {
	return s.admitter.locate(voucherID).partition, max(1, (stock+buyersPerBucket-1)/buyersPerBucket)
}

// ensurePartitions returns the number of partitions, which is the same for all processes. The
// first start stores want, and later starts change nothing.
func ensurePartitions(ctx context.Context, db *ent.Client, want int) (int, error) {
	if n, err := storedPartitions(ctx, db); n > 0 || err != nil {
		return n, err
	}
	// DoNothing would return an error if the row exists.
	err := db.Setting.Create().SetID(partitionsSetting).SetValue(strconv.Itoa(want)).
		OnConflict(entsql.ConflictColumns(setting.FieldID)).Ignore().Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("store the number of sale partitions: %w", err)
	}
	n, err := storedPartitions(ctx, db)
	if n == 0 && err == nil {
		err = fmt.Errorf("setting %s is missing after its insert", partitionsSetting)
	}
	return n, err
}

// PartitionsFixed reports whether the number of partitions is stored. If not, [New] stores it.
func PartitionsFixed(ctx context.Context, db *ent.Client) (bool, error) {
	n, err := storedPartitions(ctx, db)
	return n > 0, err
}

// storedPartitions returns the number of partitions, or 0 if it is not stored.
func storedPartitions(ctx context.Context, db *ent.Client) (int, error) {
	row, err := db.Setting.Get(ctx, partitionsSetting)
	if ent.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the number of sale partitions: %w", err)
	}
	n, err := strconv.Atoi(row.Value)
	if err != nil || n < 1 || n >= sequence.Partitions {
		return 0, fmt.Errorf("invalid setting %s: got %q, want 1 to %d", partitionsSetting, row.Value, sequence.Partitions-1)
	}
	return n, nil
}
