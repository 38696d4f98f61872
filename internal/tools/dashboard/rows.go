package main

import (
	"fmt"
	"strings"
)

// of selects a metric of the chosen servers, with optional label matchers.
func of(metric string, more ...string) string {
	return "tandian_" + metric + "{" + strings.Join(append([]string{`instance=~"$instance"`}, more...), ",") + "}"
}

// per returns the sum of a metric's rate per second, grouped by labels if by is not empty.
func per(by, metric string, more ...string) string {
	return sum(by, "rate("+of(metric, more...)+"[$__rate_interval])")
}

func sum(by, expr string) string { return grouped("sum", by, expr) }

// maxBy returns the maximum over all servers.
func maxBy(by, expr string) string { return grouped("max", by, expr) }

func grouped(how, by, expr string) string {
	if by == "" {
		return how + "(" + expr + ")"
	}
	return how + " by (" + by + ") (" + expr + ")"
}

// quantile returns the q-quantile of a histogram, grouped by labels.
func quantile(q float64, by, metric string, more ...string) string {
	labels := "le"
	if by != "" {
		labels = by + ", le"
	}
	return fmt.Sprintf("histogram_quantile(%g, %s)", q, per(labels, metric+"_bucket", more...))
}

// quantiles returns p50, p95 and p99 of a histogram.
func quantiles(metric string, more ...string) []query {
	return []query{
		{quantile(.5, "", metric, more...), "p50"}, {quantile(.95, "", metric, more...), "p95"}, {quantile(.99, "", metric, more...), "p99"},
	}
}

// rates returns the rates of several counters for one panel.
func rates(metrics ...string) (all []query) {
	for _, m := range metrics {
		all = append(all, query{per("", m), strings.TrimSuffix(m, "_total")})
	}
	return all
}

func one(expr, legend string) []query { return []query{{expr, legend}} }

// redis queries metrics of the Redis exporters.
func redis(expr string) []query { return one(expr, "{{role}}") }

func redisRate(metric string) []query {
	return redis("sum by (role) (rate(redis_" + metric + "[$__rate_interval]))")
}

// hits returns the rate of cache reads answered from local memory or Redis.
func hits(by string) string {
	return per(by, "cache_local_hits_total") + " + " + per(by, "cache_hits_total") + " + " + per(by, "cache_negative_hits_total")
}

func share(part, whole string) string { return "(" + part + ") / (" + whole + ")" }

func rows() []row {
	return []row{
		{"HTTP and GraphQL", doorPanels()},
		{"Caches", cachePanels()},
		{"Redis", redisPanels()},
		{"Flash sales", salePanels()},
		{"Feed and subscriptions", feedPanels()},
		{"Background work", workPanels()},
		{"Postgres", postgresPanels()},
		{"Process", processPanels()},
	}
}

func doorPanels() []panel {
	return []panel{
		{title: "HTTP requests by route", unit: "reqps", about: "Requests per second, by route.", queries: one(per("route", "http_request_seconds_count"), "{{route}}")},
		{title: "HTTP responses by status class", unit: "reqps", about: "5xx are server errors, 4xx client errors.", queries: one(per("class", "http_request_seconds_count"), "{{class}}")},
		{title: "HTTP latency", unit: "s", about: "Latency of /graphql requests, excluding event streams and WebSockets.", warn: .5, bad: 1, queries: quantiles("http_request_seconds", `route="/graphql"`)},
		{title: "GraphQL operations", unit: "reqps", about: "By type and outcome: partial has data and errors, failed has no data.", queries: one(per("type, outcome", "graphql_operation_seconds_count"), "{{type}} {{outcome}}")},
		{title: "GraphQL latency", unit: "s", about: "p50, p95 and p99 of queries and mutations. Subscriptions are long-lived and not timed.", warn: .5, bad: 1, queries: []query{
			{quantile(.5, "type", "graphql_operation_seconds"), "{{type}} p50"}, {quantile(.95, "type", "graphql_operation_seconds"), "{{type}} p95"}, {quantile(.99, "type", "graphql_operation_seconds"), "{{type}} p99"},
		}},
		{title: "GraphQL errors by code", unit: "reqps", about: "Field errors. INTERNAL, UNAVAILABLE and TIMEOUT are server errors.", queries: one(per("code", "graphql_errors_total"), "{{code}}")},
		{title: "Top root fields", unit: "reqps", about: "The ten most requested fields of Query and Mutation.", queries: one("topk(10, "+per("type, field", "graphql_root_field_seconds_count")+")", "{{type}} {{field}}")},
		{title: "Slowest root fields", unit: "s", about: "The ten fields with the highest p95, including their child fields.", warn: .5, bad: 1, queries: one("topk(10, "+quantile(.95, "field", "graphql_root_field_seconds")+" >= 0)", "{{field}}")},
		{title: "Rejected before execution", unit: "reqps", about: "By the code of the first error, such as rate limits and invalid documents.", queries: []query{{per("code", "door_refused_total"), "{{code}}"}, {per("", "http_connections_refused_total"), "connections"}, {per("", "door_panics_total"), "panics"}, {per("", "http_forwarded_ignored_total"), "ignored X-Forwarded-For"}}},
		{title: "In flight", unit: "short", about: "Requests, total complexity of operations, and WebSocket operations in progress.", queries: []query{{sum("", of("http_requests_in_flight")), "requests"}, {sum("", of("door_running_points")), "complexity"}, {sum("", of("door_socket_operations")), "WebSocket operations"}}},
		{title: "Document cache", unit: "percentunit", about: "Hit ratio of parsed documents, and lookups of persisted queries by result.", max: 1, queries: []query{
			{share(per("", "door_documents_total", `result="hit"`), per("", "door_documents_total")), "documents"}, {per("result", "door_persisted_queries_total"), "persisted/s: {{result}}"},
		}},
		{title: "Logins", unit: "reqps", about: "Login codes requested, logins and session reads.", queries: []query{{per("", "login_codes_total"), "codes"}, {per("", "logins_total"), "logins"}, {per("", "login_guesses_refused_total"), "refused by --wrong-codes-per-hour"}, {per("", "session_reads_total"), "session reads"}}},
		{title: "Login codes by country", unit: "reqps", about: "Codes handed to the sender, for the top ten calling codes. Sudden growth of a calling code may be fraud.", queries: one("topk(10, "+per("calling_code", "login_codes_sent_total")+")", "{{calling_code}}")},
		{title: "Login codes rejected", unit: "reqps", about: "By the exceeded limit: client address, phone number, country or installation.", queries: one(per("reason", "login_code_refusals_total"), "{{reason}}")},
	}
}

func cachePanels() []panel {
	return []panel{
		{title: "Hit ratio", unit: "percentunit", about: "Local and remote hits as a share of reads, over all policies. Below 95 % for ten minutes, an alert fires.", warn: .97, bad: .95, below: true, max: 1, queries: []query{
			{share(hits(""), hits("")+" + "+per("", "cache_misses_total")), "all"}, {"tandian:cache_hit_ratio:rate5m", "all, over 5 minutes"},
		}},
		{title: "Hit ratio by policy", unit: "percentunit", about: "Share of reads answered from local memory or Redis, including cached \"not found\" results.", warn: .97, bad: .95, below: true, max: 1, queries: one(share(hits("policy"), hits("policy")+" + "+per("policy", "cache_misses_total")), "{{policy}}")},
		{title: "Local hit ratio by policy", unit: "percentunit", about: "Share of reads answered from local memory, without a call to Redis or Postgres.", max: 1, queries: one(share(per("policy", "cache_local_hits_total"), hits("policy")+" + "+per("policy", "cache_misses_total")), "{{policy}}")},
		{title: "Remote hit ratio by policy", unit: "percentunit", about: "Share of reads missed in local memory that Redis answered.", max: 1, queries: one(share(per("policy", "cache_hits_total")+" + "+per("policy", "cache_negative_hits_total"), per("policy", "cache_hits_total")+" + "+per("policy", "cache_negative_hits_total")+" + "+per("policy", "cache_misses_total")), "{{policy}}")},
		{title: "Reads by policy", unit: "reqps", about: "Keys requested.", queries: one(hits("policy")+" + "+per("policy", "cache_misses_total"), "{{policy}}")},
		{title: "Loads by policy", unit: "reqps", about: "Keys read from the database.", queries: one(per("policy", "cache_loads_total"), "{{policy}}")},
		{title: "Leases", unit: "reqps", about: "Waits: keys that waited for a load in progress. Stores refused: loaded values dropped because the data changed during the load.", queries: rates("cache_waits_total", "cache_stores_refused_total", "cache_refreshes_total", "cache_stale_served_total", "cache_load_calls_total")},
		{title: "Rejections and failures", unit: "reqps", about: "Failed loader calls, loads rejected under overload, reads above the Redis read limit, failed round trips, and undecodable records.", queries: rates("cache_load_errors_total", "cache_busy_total", "cache_limited_total", "cache_redis_errors_total", "cache_undecodable_total", "cache_oversize_total")},
		{title: "Negative results", unit: "reqps", about: "Keys answered by the existence filter, and by cached \"not found\" results.", queries: rates("cache_excluded_total", "cache_negative_hits_total")},
		{title: "Local memory", unit: "bytes", about: "Bytes cached in local memory, by policy.", queries: one(sum("policy", of("cache_local_bytes")), "{{policy}}")},
		{title: "Local memory in use", unit: "percentunit", about: "Share of the byte limit of each policy. A full cache is normal: it evicts the least used entries.", max: 1, queries: one(share(sum("policy", of("cache_local_bytes")), sum("policy", of("cache_local_limit_bytes")+" > 0")), "{{policy}}")},
		{title: "Evictions", unit: "reqps", about: "Entries evicted to make space: from local memory by policy, and from the cache Redis.", queries: []query{{per("policy", "cache_local_evictions_total"), "{{policy}}"}, {`sum(rate(redis_evicted_keys_total{role="cache"}[$__rate_interval]))`, "Redis"}}},
	}
}

// redisPanels begins with the eleven key figures of INFO: connected_clients, blocked_clients,
// used_memory, maxmemory, mem_fragmentation_ratio, operations per second, keyspace_hits,
// keyspace_misses, evicted_keys, expired_keys and rejected_connections.
func redisPanels() []panel {
	return []panel{
		{title: "Clients", unit: "short", about: "connected_clients and blocked_clients. Consumers that wait on streams are blocked; this is normal.", queries: []query{{"redis_connected_clients", "{{role}} connected"}, {"redis_blocked_clients", "{{role}} blocked"}}},
		{title: "Memory", unit: "bytes", about: "used_memory and maxmemory.", queries: []query{{"redis_memory_used_bytes", "{{role}} used"}, {"redis_memory_max_bytes", "{{role}} maxmemory"}}},
		{title: "Memory in use", unit: "percentunit", about: "Share of maxmemory. Above 80 % for the state Redis, an alert fires; the cache Redis may be full.", warn: .7, bad: .8, max: 1, queries: redis("redis_memory_used_bytes / (redis_memory_max_bytes > 0)")},
		{title: "Fragmentation", unit: "short", about: "mem_fragmentation_ratio: allocated memory relative to used memory. It is high when little memory is used.", warn: 1.5, queries: redis("redis_mem_fragmentation_ratio")},
		{title: "Commands", unit: "ops", about: "Operations per second, as in instantaneous_ops_per_sec, averaged over the interval.", queries: redisRate("commands_processed_total")},
		{title: "Keyspace hits and misses", unit: "ops", about: "keyspace_hits and keyspace_misses of all commands, not only of caches.", queries: []query{{"sum by (role) (rate(redis_keyspace_hits_total[$__rate_interval]))", "{{role}} hits"}, {"sum by (role) (rate(redis_keyspace_misses_total[$__rate_interval]))", "{{role}} misses"}}},
		{title: "Evicted keys", unit: "ops", about: "evicted_keys. The state Redis must never evict.", queries: redisRate("evicted_keys_total")},
		{title: "Expired keys", unit: "ops", about: "expired_keys.", queries: redisRate("expired_keys_total")},
		{title: "Rejected connections", unit: "short", about: "rejected_connections in ten minutes: maxclients was reached.", bad: 1, queries: redis("sum by (role) (increase(redis_rejected_connections_total[10m]))")},
		{title: "Network", unit: "Bps", about: "total_net_input_bytes and total_net_output_bytes.", queries: []query{{"sum by (role) (rate(redis_net_input_bytes_total[$__rate_interval]))", "{{role}} in"}, {"sum by (role) (rate(redis_net_output_bytes_total[$__rate_interval]))", "{{role}} out"}}},
		{title: "Forks and AOF rewrites", unit: "s", about: "latest_fork_usec: Redis is blocked during a fork. Duration of the last AOF rewrite; -1 means none.", warn: .1, queries: []query{{"redis_latest_fork_seconds", "{{role}} fork"}, {"redis_aof_last_rewrite_duration_sec", "{{role}} rewrite"}}},
		{title: "Keys", unit: "short", about: "Number of keys, and of keys with an expiry.", queries: []query{{"sum by (role) (redis_db_keys)", "{{role}}"}, {"sum by (role) (redis_db_keys_expiring)", "{{role}} expiring"}}},
		{title: "Round-trip time", unit: "s", about: "Measured by the servers. A pipeline counts as one round trip.", warn: .01, bad: .1, queries: []query{{quantile(.5, "role", "redis_round_trip_seconds"), "{{role}} p50"}, {quantile(.99, "role", "redis_round_trip_seconds"), "{{role}} p99"}}},
		{title: "Commands by servers", unit: "ops", about: "The ten most frequent commands.", queries: one("topk(10, "+per("role, command", "redis_commands_total")+")", "{{role}} {{command}}")},
		{title: "Errors and circuit breakers", unit: "short", about: "Failed round trips, commands not sent because the breaker is open, and servers with an open breaker.", bad: 1, queries: []query{{per("role", "redis_errors_total"), "{{role}} errors/s"}, {per("role", "redis_breaker_refused_total"), "{{role}} not sent/s"}, {sum("role", of("redis_breaker_open")), "{{role}} breakers open"}, {per("role", "redis_breaker_opened_total"), "{{role}} breaker opened/s"}}},
		{title: "Connection pools", unit: "short", about: "Open and idle connections of all servers, waits, and timeouts.", queries: []query{{sum("role", of("redis_pool_connections")), "{{role}} open"}, {sum("role", of("redis_pool_idle_connections")), "{{role}} idle"}, {per("role", "redis_pool_waits"), "{{role}} waits/s"}, {per("role", "redis_pool_timeouts"), "{{role}} timeouts/s"}}},
		{title: "Event bus", unit: "reqps", about: "Messages between servers. Gap: messages may be lost, so dependent cache entries were dropped.", queries: []query{{per("", "bus_published_total"), "published"}, {per("", "bus_heard_total"), "received"}, {per("why", "bus_gaps_total"), "gap: {{why}}"}, {per("doing", "bus_errors_total"), "error: {{doing}}"}}},
		{title: "Event bus lag", unit: "s", about: "Time since each server last confirmed that it received all messages; normally about 0.1 s.", warn: 1, bad: 5, queries: []query{{of("bus_lag_seconds"), "{{instance}}"}, {per("", "redis_losses_total"), "lost writes/s"}, {per("", "redis_watch_errors_total"), "watch errors/s"}}},
	}
}

func salePanels() []panel {
	return []panel{
		{title: "Admissions", unit: "reqps", about: "Results of orders. Stored and queued: admitted. Held and repeated: the user already had an order.", queries: one(per("answer", "sale_tries_total"), "{{answer}}")},
		{title: "Order queue", unit: "short", about: "Orders not yet read by a consumer (lag), and orders read but not yet stored (pending).", warn: 1000, bad: 5000, queries: []query{{maxBy("queue", of("sale_queue_lag")) + " > 0 or on () " + maxBy("", of("sale_queue_lag")), "lag {{queue}}"}, {maxBy("queue", of("sale_queue_pending")) + " > 0 or on () " + maxBy("", of("sale_queue_pending")), "pending {{queue}}"}}},
		{title: "Oldest unstored order", unit: "s", about: "Maximum over all queues.", warn: 5, bad: 30, queries: one(maxBy("", of("sale_queue_oldest_seconds")), "oldest")},
		{title: "Orders stored", unit: "reqps", about: "Orders stored, and the transactions that stored them.", queries: rates("sale_orders_stored_total", "sale_commits_total", "sale_commit_failures_total")},
		{title: "Commit batch size", unit: "short", about: "Orders per transaction.", queries: one(share(per("", "sale_orders_stored_total"), per("", "sale_commits_total")+" > 0"), "orders")},
		{title: "Commit time", unit: "s", about: "Duration of a transaction that stores a batch of orders.", warn: .25, bad: 1, queries: quantiles("sale_commit_seconds")},
		{title: "Parked and failed", unit: "short", about: "Parked orders need an operator. Failed orders are tombstones, by reason. Number clashes must never happen.", bad: 1, queries: []query{{maxBy("", of("sale_queue_parked")), "parked"}, {per("code", "sale_orders_failed_total"), "failed/s: {{code}}"}, {per("", "sale_number_clashes_total"), "number clashes/s"}}},
		{title: "Queue events", unit: "reqps", about: "Unusual events, such as orders that bypass Redis, entries claimed from a dead consumer, and halved batches.", queries: one(per("event", "sale_queue_events_total"), "{{event}}")},
		{title: "Stock reconciliation", unit: "reqps", about: "Repairs by the sale reconciler, and failures in the background.", queries: []query{{per("did", "sale_reconciled_total"), "{{did}}"}, {per("", "sale_errors_total"), "errors"}, {per("", "sale_incarnations_total"), "partitions compared"}}},
		{title: "Redis bypass", unit: "short", about: "Partitions that bypass Redis now, and servers that avoid a Redis that evicts.", bad: 1, queries: []query{{sum("", of("sale_door_closed")), "partitions bypassed"}, {sum("", of("sale_evicting")), "servers avoiding Redis"}, {per("", "voucher_edit_failures_total"), "edits missing in Redis/s"}}},
		{title: "Orders", unit: "reqps", about: "Order events: placed, paid, expired, refunded and others.", queries: one(per("event", "order_events_total"), "{{event}}")},
		{title: "Sequence leases", unit: "reqps", about: "Leased ranges of order numbers, and failures.", queries: rates("sequence_leases_total", "sequence_failures_total")},
		{title: "Order and job locks", unit: "reqps", about: "Locks in Redis (orders) and Postgres (jobs). Failed: the store did not respond. Lost: the lock expired before its release.", queries: rates("lock_acquired_total", "lock_waited_total", "lock_failed_total", "lock_lost_total", "lock_max_hold_total")},
	}
}

func feedPanels() []panel {
	return []panel{
		{title: "Fan-out latency", unit: "s", about: "Time from publication of a note until it is in the feeds of all followers.", warn: 10, bad: 30, queries: quantiles("feed_fan_out_seconds")},
		{title: "Feed writes and reads", unit: "reqps", about: "Notes pushed to followers, and feed pages by source.", queries: []query{{per("", "feed_pushed_total"), "pushed"}, {per("from", "feed_pages_total"), "pages: {{from}}"}}},
		{title: "Live feeds", unit: "short", about: "Open live feeds, and users with loaded follows.", queries: []query{{sum("", of("feed_live_sessions")), "sessions"}, {sum("", of("feed_live_viewers")), "viewers"}}},
		{title: "Live feed updates", unit: "reqps", about: "Updates delivered live and replayed. Events announced by a hint (hinted), or found by polling the log (found).", queries: rates("feed_live_told_total", "feed_live_replayed_total", "feed_live_events_total", "feed_live_hinted_total", "feed_live_found_total", "feed_live_errors_total")},
		{title: "Live feed lag", unit: "s", about: "How far each server is behind the feed log, in seconds and in entries.", warn: 1, bad: 5, queries: []query{{of("feed_live_lag_seconds"), "{{instance}}"}, {of("feed_live_lag_numbers"), "{{instance}} entries"}}},
		{title: "Resumed live feeds", unit: "reqps", about: "Live feeds that resumed from a cursor: replayed from the log, or asked to reload (resync).", queries: one(per("source", "feed_live_replays_total"), "{{source}}")},
		{title: "Notifications", unit: "reqps", about: "Keys that may have changed (told), watches notified (hints), and reads that followed.", queries: rates("live_told_total", "live_hints_total", "live_reads_total", "live_errors_total", "live_pubsub_published_total", "live_pubsub_unpublished_total")},
		{title: "Pub/sub", unit: "short", about: "Subscribed servers and open watches. A new connection means that one was lost.", queries: []query{{sum("", of("live_pubsub_connected")), "subscribed servers"}, {sum("", of("live_watches")), "watches"}, {per("", "live_pubsub_connects_total"), "connects/s"}, {per("", "live_pubsub_probe_failures_total"), "dropped/s"}}},
		{title: "Subscriptions", unit: "short", about: "Open WebSockets and event streams. Identical subscriptions share one execution per selection.", queries: []query{{sum("", of("door_sockets_open")), "WebSockets"}, {sum("", of("door_event_streams")), "event streams"}, {sum("", of("door_subscriptions")), "shared subscriptions"}, {sum("", of("door_selections")), "selections"}, {sum("", of("door_personal_selections")), "personal selections"}}},
		{title: "Deliveries", unit: "reqps", about: "Updates delivered to subscriptions, and the shared executions that produced them.", queries: rates("door_deliveries_total", "door_executions_total", "door_lagged_total")},
		{title: "Delivery latency", unit: "s", about: "Time from an update until all subscriptions of a selection have it.", warn: 1, bad: 5, queries: quantiles("door_delivery_seconds")},
		{title: "WebSockets", unit: "short", about: "Closes by code, rejected messages, slow clients, and bytes queued for clients.", queries: []query{{per("code", "door_socket_closes_total") + " > 0 or on () " + per("", "door_socket_closes_total"), "closed {{code}}/s"}, {per("reason", "door_socket_messages_refused_total"), "rejected {{reason}}/s"}, {per("action", "door_socket_slow_total"), "slow: {{action}}/s"}, {sum("", of("door_socket_queue_bytes")), "queued bytes"}}},
	}
}

func workPanels() []panel {
	return []panel{
		{title: "Outbox backlog", unit: "short", about: "Unfinished jobs of committed transactions, by topic.", bad: 10000, queries: []query{{maxBy("topic", of("outbox_waiting")), "{{topic}}"}, {maxBy("", of("outbox_parked")), "parked"}}},
		{title: "Outbox age", unit: "s", about: "Age of the oldest waiting job.", warn: 60, bad: 300, queries: one(maxBy("topic", of("outbox_oldest_seconds")), "{{topic}}")},
		{title: "Outbox jobs", unit: "reqps", about: "By outcome.", queries: []query{{per("outcome", "outbox_jobs_total"), "{{outcome}}"}, {per("doing", "outbox_errors_total"), "error: {{doing}}"}}},
		{title: "Scan findings", unit: "short", about: "Differences found in one hour by tandian reconcile and its schedule, and differences left unrepaired.", bad: 1, queries: []query{
			{"sum by (what) (increase(" + of("reconcile_found_total") + "[1h]))", "found: {{what}}"},
			{"sum by (what) (increase(" + of("reconcile_found_total") + "[1h])) - sum by (what) (increase(" + of("reconcile_mended_total") + "[1h]))", "unrepaired: {{what}}"},
		}},
		{title: "Scan progress", unit: "reqps", about: "Items compared and failed scans, by scan.", queries: []query{{per("what", "reconcile_compared_total"), "{{what}}"}, {per("what", "reconcile_failures_total"), "failed: {{what}}"}}},
		{title: "Scheduled jobs", unit: "short", about: "Runs by job and result, and time since the last success on any server.", queries: []query{
			{per("exported_job, result", "schedule_runs_total"), "{{exported_job}} {{result}}/s"},
			{"time() - " + maxBy("exported_job", of("schedule_last_success_timestamp_seconds")), "{{exported_job}} seconds since success"},
		}},
		{title: "Duration of scheduled jobs", unit: "s", about: "p95 of the runs, by job.", queries: one(quantile(.95, "exported_job", "schedule_run_seconds")+" >= 0", "{{exported_job}}")},
		{title: "Cache warm-up", unit: "short", about: "Entries loaded before the first request, failed parts, and duration of the latest starts.", queries: []query{
			{per("what", "warmup_entries_total"), "{{what}}/s"},
			{per("what", "warmup_failures_total"), "failed: {{what}}"},
			{of("warmup_seconds"), "seconds on {{instance}}"},
			{"1 - " + of("warmup_finished"), "{{instance}} still warming up"},
		}},
		{title: "Background failures", unit: "reqps", about: "Failures outside of requests, which are retried, by component.", queries: rates("account_failures_total", "order_failures_total", "visit_failures_total", "log_reader_errors_total", "sql_errors_total", "quota_failures_total")},
		{title: "Order lists", unit: "reqps", about: "Order lists in Redis that were rebuilt, or compared with the database.", queries: rates("order_list_rebuilds_total", "order_lists_compared_total")},
		{title: "Visits", unit: "reqps", about: "Views counted, and views not counted by reason.", queries: []query{{per("kind", "visits_total"), "{{kind}}"}, {per("reason", "visits_dropped_total"), "not counted: {{reason}}"}}},
		{title: "Shops, images and quotas", unit: "reqps", about: "Nearby searches, geo cells built, images uploaded and deleted, deleted notes cleared, writes rejected by quotas.", queries: rates("shop_near_total", "shop_cells_built_total", "media_uploads_total", "media_collected_total", "deleted_notes_cleared_total", "quota_refused_total")},
	}
}

func postgresPanels() []panel {
	const databases = `datname!~"template.*|postgres"`
	database := func(metric string) string {
		return "sum by (datname) (rate(pg_stat_database_" + metric + "{" + databases + "}[$__rate_interval]))"
	}
	return []panel{
		{title: "Connections by state", unit: "short", about: "Connections of all clients, and the limit.", queries: []query{{"sum by (state) (pg_stat_activity_count)", "{{state}}"}, {"max(pg_settings_max_connections)", "max_connections"}}},
		{title: "Transactions", unit: "ops", about: "Commits and rollbacks.", queries: []query{{database("xact_commit"), "{{datname}} commits"}, {database("xact_rollback"), "{{datname}} rollbacks"}}},
		{title: "Buffer hit ratio", unit: "percentunit", about: "Share of blocks found in shared_buffers. If it stays below 99 %, add memory.", warn: .99, bad: .9, below: true, max: 1, queries: one(share(database("blks_hit"), database("blks_hit")+" + "+database("blks_read")), "{{datname}}")},
		{title: "Rows written", unit: "ops", about: "Rows inserted, updated and deleted.", queries: []query{{database("tup_inserted"), "{{datname}} inserted"}, {database("tup_updated"), "{{datname}} updated"}, {database("tup_deleted"), "{{datname}} deleted"}}},
		{title: "Locks", unit: "short", about: "Locks held or awaited, by mode, and deadlocks in ten minutes.", queries: []query{{"sum by (mode) (pg_locks_count{" + databases + "})", "{{mode}}"}, {"sum(increase(pg_stat_database_deadlocks[10m]))", "deadlocks"}}},
		{title: "Longest transaction", unit: "s", about: "By session state.", warn: 60, bad: 300, queries: one("max by (state) (pg_stat_activity_max_tx_duration)", "{{state}}")},
		{title: "WAL retained by slots", unit: "bytes", about: "WAL that Postgres retains for each replication slot. Above 1 GiB, an alert fires.", warn: 256 << 20, bad: 1 << 30, queries: one("max by (slot_name) (pg_replication_slots_pg_wal_lsn_diff)", "{{slot_name}}")},
		{title: "Replication lag", unit: "bytes", about: "How far each replication client is behind: standbys and change data capture.", warn: 16 << 20, bad: 64 << 20, queries: one("max by (application_name) (pg_stat_replication_pg_wal_lsn_diff)", "{{application_name}}")},
		{title: "Change data capture", unit: "short", about: "One server at a time reads the database log. Missed: changes may be lost, so all caches were invalidated.", queries: []query{{sum("", of("log_reader_active")), "readers"}, {per("table", "log_reader_changes_total"), "{{table}}/s"}, {per("", "log_reader_missed_total"), "missed/s"}, {maxBy("", of("log_reader_lag_bytes")), "bytes behind"}}},
		{title: "SQL statements", unit: "ops", about: "Statements of requests and of workers.", queries: []query{{per("verb", "sql_statement_seconds_count"), "{{verb}}"}, {per("verb", "sql_worker_statement_seconds_count"), "workers: {{verb}}"}}},
		{title: "SQL latency", unit: "s", about: "Duration of statements in requests.", warn: .1, bad: .5, queries: quantiles("sql_statement_seconds")},
		{title: "SQL connection pools", unit: "short", about: "Connections of all servers, and waits for a connection.", queries: []query{{sum("", of("go_sql_open_connections")), "open"}, {sum("", of("go_sql_in_use_connections")), "in use"}, {sum("", of("go_sql_max_open_connections")), "limit"}, {per("", "go_sql_wait_count_total"), "waits/s"}, {per("", "go_sql_wait_duration_seconds_total"), "seconds waited/s"}}},
		{title: "Failovers", unit: "short", about: "Standby promotions detected by servers in one hour, and failed failover handling.", warn: 1, queries: []query{
			{"sum(increase(" + of("database_promotions_total") + "[1h]))", "promotions"},
			{"sum(increase(" + of("database_promotion_errors_total") + "[1h]))", "errors"},
		}},
		{title: "Database size", unit: "bytes", about: "Size on disk.", queries: one("sum by (datname) (pg_database_size_bytes{"+databases+"})", "{{datname}}")},
		{title: "Checkpoints", unit: "short", about: "Checkpoints in ten minutes. A requested checkpoint means that max_wal_size was reached.", queries: []query{{"sum(increase(pg_stat_bgwriter_checkpoints_timed_total[10m]))", "timed"}, {"sum(increase(pg_stat_bgwriter_checkpoints_req_total[10m]))", "requested"}}},
	}
}

func processPanels() []panel {
	process := func(expr string) []query {
		return one(strings.ReplaceAll(expr, "{}", `{job="tandian",instance=~"$instance"}`), "{{instance}}")
	}
	return []panel{
		{title: "CPU", unit: "short", about: "CPU cores in use.", queries: process("rate(process_cpu_seconds_total{}[$__rate_interval])")},
		{title: "Memory", unit: "bytes", about: "Resident memory.", queries: process("process_resident_memory_bytes{}")},
		{title: "Heap", unit: "bytes", about: "Go heap in use, including local caches.", queries: process("go_memstats_heap_inuse_bytes{}")},
		{title: "Goroutines", unit: "short", about: "The number rises and falls with open WebSockets.", queries: process("go_goroutines{}")},
		{title: "Garbage collection", unit: "percentunit", about: "Share of time in GC pauses.", queries: process("rate(go_gc_duration_seconds_sum{}[$__rate_interval])")},
		{title: "Open files", unit: "percentunit", about: "Open files and connections, as a share of the limit.", warn: .7, bad: .9, max: 1, queries: process("process_open_fds{} / process_max_fds{}")},
		{title: "Uptime", unit: "s", about: "Time since each server started. A drop is a restart.", queries: process("time() - process_start_time_seconds{}")},
	}
}
