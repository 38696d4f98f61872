package main

import (
	"fmt"
	"strings"
)

// of is a metric of the servers that are picked, with more matchers or none.
func of(metric string, more ...string) string {
	return "tandian_" + metric + "{" + strings.Join(append([]string{`instance=~"$instance"`}, more...), ",") + "}"
}

// per is the sum of a metric's rate a second by labels; "" is over all.
func per(by, metric string, more ...string) string {
	return sum(by, "rate("+of(metric, more...)+"[$__rate_interval])")
}

func sum(by, expr string) string { return grouped("sum", by, expr) }

// most is the largest of what all servers say of the same thing.
func most(by, expr string) string { return grouped("max", by, expr) }

func grouped(how, by, expr string) string {
	if by == "" {
		return how + "(" + expr + ")"
	}
	return how + " by (" + by + ") (" + expr + ")"
}

// quantile is one of a histogram.
func quantile(q float64, by, metric string, more ...string) string {
	labels := "le"
	if by != "" {
		labels = by + ", le"
	}
	return fmt.Sprintf("histogram_quantile(%g, %s)", q, per(labels, metric+"_bucket", more...))
}

// quantiles are the usual three.
func quantiles(metric string, more ...string) []query {
	return []query{
		{quantile(.5, "", metric, more...), "p50"}, {quantile(.95, "", metric, more...), "p95"}, {quantile(.99, "", metric, more...), "p99"},
	}
}

// rates are several counters in one panel.
func rates(metrics ...string) (all []query) {
	for _, m := range metrics {
		all = append(all, query{per("", m), strings.TrimSuffix(m, "_total")})
	}
	return all
}

func one(expr, legend string) []query { return []query{{expr, legend}} }

// redis is an expression over what the exporter of each Redis says.
func redis(expr string) []query { return one(expr, "{{role}}") }

func redisRate(metric string) []query {
	return redis("sum by (role) (rate(redis_" + metric + "[$__rate_interval]))")
}

// hits are the reads of caches that memory or Redis answered.
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
		{"Feed and live", feedPanels()},
		{"Work behind requests", workPanels()},
		{"Postgres", postgresPanels()},
		{"Process", processPanels()},
	}
}

func doorPanels() []panel {
	return []panel{
		{title: "HTTP requests by route", unit: "reqps", about: "How many requests a second each route serves.", queries: one(per("route", "http_request_seconds_count"), "{{route}}")},
		{title: "HTTP answers by class", unit: "reqps", about: "5xx are failures of ours, 4xx of clients.", queries: one(per("class", "http_request_seconds_count"), "{{class}}")},
		{title: "HTTP time", unit: "s", about: "Time of requests but for event streams and sockets, which last.", warn: .5, bad: 1, queries: quantiles("http_request_seconds", `route="/graphql"`)},
		{title: "GraphQL operations", unit: "reqps", about: "By type and outcome: partial has data and errors, failed has no data.", queries: one(per("type, outcome", "graphql_operation_seconds_count"), "{{type}} {{outcome}}")},
		{title: "GraphQL time", unit: "s", about: "p50, p95 and p99 of queries and mutations. A subscription mostly waits and has no time.", warn: .5, bad: 1, queries: []query{
			{quantile(.5, "type", "graphql_operation_seconds"), "{{type}} p50"}, {quantile(.95, "type", "graphql_operation_seconds"), "{{type}} p95"}, {quantile(.99, "type", "graphql_operation_seconds"), "{{type}} p99"},
		}},
		{title: "Errors by code", unit: "reqps", about: "Errors of fields. INTERNAL, UNAVAILABLE and TIMEOUT are ours.", queries: one(per("code", "graphql_errors_total"), "{{code}}")},
		{title: "Most asked root fields", unit: "reqps", about: "The ten fields of Query and Mutation that are asked for most.", queries: one("topk(10, "+per("type, field", "graphql_root_field_seconds_count")+")", "{{type}} {{field}}")},
		{title: "Slowest root fields", unit: "s", about: "The ten fields whose p95 is largest, with all that is below them.", warn: .5, bad: 1, queries: one("topk(10, "+quantile(.95, "field", "graphql_root_field_seconds")+" >= 0)", "{{field}}")},
		{title: "Refused before they ran", unit: "reqps", about: "By the code of the first error: rates, limits, documents that are not valid.", queries: []query{{per("code", "door_refused_total"), "{{code}}"}, {per("", "http_connections_refused_total"), "connections"}, {per("", "door_panics_total"), "panics"}, {per("", "http_forwarded_ignored_total"), "served without their forwarded address"}}},
		{title: "In hand", unit: "short", about: "What runs now: requests, the complexity of operations, operations on sockets.", queries: []query{{sum("", of("http_requests_in_flight")), "requests"}, {sum("", of("door_running_points")), "points"}, {sum("", of("door_socket_operations")), "operations on sockets"}}},
		{title: "Known documents", unit: "percentunit", about: "Of documents, and of queries named by a hash: how many were known.", most: 1, queries: []query{
			{share(per("", "door_documents_total", `result="hit"`), per("", "door_documents_total")), "documents"}, {per("result", "door_persisted_queries_total"), "by hash, a second: {{result}}"},
		}},
		{title: "Logins", unit: "reqps", about: "Codes sent, logins and reads of sessions, by what became of them.", queries: []query{{per("", "login_codes_total"), "codes"}, {per("", "logins_total"), "logins"}, {per("", "login_guesses_refused_total"), "refused by --wrong-codes-per-hour"}, {per("", "session_reads_total"), "session reads"}}},
		{title: "Login codes by country", unit: "reqps", about: "Codes handed to the sender, for the ten calling codes that got most. A new one that grows may be fraud.", queries: one("topk(10, "+per("calling_code", "login_codes_sent_total")+")", "{{calling_code}}")},
		{title: "Login codes refused", unit: "reqps", about: "By what the limit counts: the address that asks, the phone, the country, the whole installation.", queries: one(per("reason", "login_code_refusals_total"), "{{reason}}")},
	}
}

func cachePanels() []panel {
	return []panel{
		{title: "Hit ratio", unit: "percentunit", about: "Local and remote hits of all reads, over all policies. Below 95 % for ten minutes is an alert.", warn: .97, bad: .95, below: true, most: 1, queries: []query{
			{share(hits(""), hits("")+" + "+per("", "cache_misses_total")), "all"}, {"tandian:cache_hit_ratio:rate5m", "all, over 5 minutes"},
		}},
		{title: "Hit ratio by policy", unit: "percentunit", about: "Hits by the process's own memory or by Redis, those included of which it is known that there is none.", warn: .97, bad: .95, below: true, most: 1, queries: one(share(hits("policy"), hits("policy")+" + "+per("policy", "cache_misses_total")), "{{policy}}")},
		{title: "Local hit ratio by policy", unit: "percentunit", about: "Reads that the process's own memory answered: these ask nobody.", most: 1, queries: one(share(per("policy", "cache_local_hits_total"), hits("policy")+" + "+per("policy", "cache_misses_total")), "{{policy}}")},
		{title: "Remote hit ratio by policy", unit: "percentunit", about: "Of those that got past the process's own memory, how many Redis answered.", most: 1, queries: one(share(per("policy", "cache_hits_total")+" + "+per("policy", "cache_negative_hits_total"), per("policy", "cache_hits_total")+" + "+per("policy", "cache_negative_hits_total")+" + "+per("policy", "cache_misses_total")), "{{policy}}")},
		{title: "Reads by policy", unit: "reqps", about: "Keys that were asked for.", queries: one(hits("policy")+" + "+per("policy", "cache_misses_total"), "{{policy}}")},
		{title: "Loads by policy", unit: "reqps", about: "Keys that the database was asked for.", queries: one(per("policy", "cache_loads_total"), "{{policy}}")},
		{title: "Leases", unit: "reqps", about: "Waits: keys that waited for somebody else's load instead of loading. Stores refused: what was loaded was not kept, since it was changed meanwhile.", queries: rates("cache_waits_total", "cache_stores_refused_total", "cache_refreshes_total", "cache_stale_served_total", "cache_load_calls_total")},
		{title: "Refused and failed", unit: "reqps", about: "Calls of loaders that failed or found no place, reads above the limit on reads of Redis, round trips that failed, records that could not be read.", queries: rates("cache_load_errors_total", "cache_busy_total", "cache_limited_total", "cache_redis_errors_total", "cache_undecodable_total", "cache_oversize_total")},
		{title: "Known to be absent", unit: "reqps", about: "Keys that the existence guard answered, and entries that say that there is none.", queries: rates("cache_excluded_total", "cache_negative_hits_total")},
		{title: "Local bytes", unit: "bytes", about: "What the process's own memory keeps, by policy.", queries: one(sum("policy", of("cache_local_bytes")), "{{policy}}")},
		{title: "Local fill", unit: "percentunit", about: "Bytes of what each policy may keep. Full is well: then what is read least makes place.", most: 1, queries: one(share(sum("policy", of("cache_local_bytes")), sum("policy", of("cache_local_limit_bytes")+" > 0")), "{{policy}}")},
		{title: "Evictions", unit: "reqps", about: "Entries that made place for others: in the process's own memory by policy, and in the cache Redis.", queries: []query{{per("policy", "cache_local_evictions_total"), "{{policy}}"}, {`sum(rate(redis_evicted_keys_total{role="cache"}[$__rate_interval]))`, "Redis"}}},
	}
}

// redisPanels begins with the eleven figures of INFO that say how a Redis is:
// connected_clients, blocked_clients, used_memory, maxmemory, mem_fragmentation_ratio,
// operations a second, keyspace_hits, keyspace_misses, evicted_keys, expired_keys and
// rejected_connections.
func redisPanels() []panel {
	return []panel{
		{title: "Clients", unit: "short", about: "connected_clients, and blocked_clients: consumers and followers that wait for streams are blocked, and are to be.", queries: []query{{"redis_connected_clients", "{{role}} connected"}, {"redis_blocked_clients", "{{role}} blocked"}}},
		{title: "Memory", unit: "bytes", about: "used_memory and maxmemory.", queries: []query{{"redis_memory_used_bytes", "{{role}} used"}, {"redis_memory_max_bytes", "{{role}} maxmemory"}}},
		{title: "Memory used", unit: "percentunit", about: "Of maxmemory. State beyond 80 % is an alert; a cache may be full.", warn: .7, bad: .8, most: 1, queries: redis("redis_memory_used_bytes / (redis_memory_max_bytes > 0)")},
		{title: "Fragmentation", unit: "short", about: "mem_fragmentation_ratio: what the system gave, of what is used. Large while little is used.", warn: 1.5, queries: redis("redis_mem_fragmentation_ratio")},
		{title: "Commands", unit: "ops", about: "Operations a second, as instantaneous_ops_per_sec, but over the whole interval.", queries: redisRate("commands_processed_total")},
		{title: "Keyspace hits and misses", unit: "ops", about: "keyspace_hits and keyspace_misses: of all commands, those of caches among them.", queries: []query{{"sum by (role) (rate(redis_keyspace_hits_total[$__rate_interval]))", "{{role}} hits"}, {"sum by (role) (rate(redis_keyspace_misses_total[$__rate_interval]))", "{{role}} misses"}}},
		{title: "Evicted keys", unit: "ops", about: "evicted_keys. State evicts nothing, ever.", queries: redisRate("evicted_keys_total")},
		{title: "Expired keys", unit: "ops", about: "expired_keys.", queries: redisRate("expired_keys_total")},
		{title: "Rejected connections", unit: "short", about: "rejected_connections in ten minutes: maxclients is reached.", bad: 1, queries: redis("sum by (role) (increase(redis_rejected_connections_total[10m]))")},
		{title: "Network", unit: "Bps", about: "total_net_input_bytes and total_net_output_bytes.", queries: []query{{"sum by (role) (rate(redis_net_input_bytes_total[$__rate_interval]))", "{{role}} in"}, {"sum by (role) (rate(redis_net_output_bytes_total[$__rate_interval]))", "{{role}} out"}}},
		{title: "Forks and the append-only file", unit: "s", about: "latest_fork_usec: nothing is served meanwhile. The last rewrite of the append-only file; -1 is none.", warn: .1, queries: []query{{"redis_latest_fork_seconds", "{{role}} fork"}, {"redis_aof_last_rewrite_duration_sec", "{{role}} rewrite"}}},
		{title: "Keys", unit: "short", about: "How many there are, and how many of them expire.", queries: []query{{"sum by (role) (redis_db_keys)", "{{role}}"}, {"sum by (role) (redis_db_keys_expiring)", "{{role}} expiring"}}},
		{title: "Round trips", unit: "s", about: "As servers see them; a pipeline is one.", warn: .01, bad: .1, queries: []query{{quantile(.5, "role", "redis_round_trip_seconds"), "{{role}} p50"}, {quantile(.99, "role", "redis_round_trip_seconds"), "{{role}} p99"}}},
		{title: "Commands of servers", unit: "ops", about: "The ten most frequent.", queries: one("topk(10, "+per("role, command", "redis_commands_total")+")", "{{role}} {{command}}")},
		{title: "Errors and breakers", unit: "short", about: "Round trips that failed, commands that were not sent since the Redis is cut off, and how many servers have cut it off now.", bad: 1, queries: []query{{per("role", "redis_errors_total"), "{{role}} errors a second"}, {per("role", "redis_breaker_refused_total"), "{{role}} not sent a second"}, {sum("role", of("redis_breaker_open")), "{{role}} cut off"}, {per("role", "redis_breaker_opened_total"), "{{role}} cut off a second"}}},
		{title: "Pools", unit: "short", about: "Connections of all servers, idle ones, and how often a caller waited or got none in time.", queries: []query{{sum("role", of("redis_pool_connections")), "{{role}} open"}, {sum("role", of("redis_pool_idle_connections")), "{{role}} idle"}, {per("role", "redis_pool_waits"), "{{role}} waits a second"}, {per("role", "redis_pool_timeouts"), "{{role}} timeouts a second"}}},
		{title: "Bus", unit: "reqps", about: "Messages that servers tell each other; gaps: something may have been missed, and what rested on it was forgotten.", queries: []query{{per("", "bus_published_total"), "published"}, {per("", "bus_heard_total"), "heard"}, {per("why", "bus_gaps_total"), "gap: {{why}}"}, {per("doing", "bus_errors_total"), "error: {{doing}}"}}},
		{title: "Bus lag", unit: "s", about: "For how long each server has not known that it heard everything; a tenth of a second when all is well.", warn: 1, bad: 5, queries: []query{{of("bus_lag_seconds"), "{{instance}}"}, {per("", "redis_losses_total"), "lost writes a second"}, {per("", "redis_watch_errors_total"), "watch errors a second"}}},
	}
}

func salePanels() []panel {
	return []panel{
		{title: "Admitted and refused", unit: "reqps", about: "What users were told who wanted a piece: stored and queued have one; held and repeated had one before.", queries: one(per("answer", "sale_tries_total"), "{{answer}}")},
		{title: "Queue", unit: "short", about: "Orders that no consumer has read (lag), and those that one has read and not stored (pending).", warn: 1000, bad: 5000, queries: []query{{most("queue", of("sale_queue_lag")) + " > 0 or on () " + most("", of("sale_queue_lag")), "lag {{queue}}"}, {most("queue", of("sale_queue_pending")) + " > 0 or on () " + most("", of("sale_queue_pending")), "pending {{queue}}"}}},
		{title: "Oldest order not stored", unit: "s", about: "By queue, the worst.", warn: 5, bad: 30, queries: one(most("", of("sale_queue_oldest_seconds")), "oldest")},
		{title: "Orders stored", unit: "reqps", about: "Rows, and the transactions that stored them.", queries: rates("sale_orders_stored_total", "sale_commits_total", "sale_commit_failures_total")},
		{title: "Commit batch", unit: "short", about: "Orders in a transaction.", queries: one(share(per("", "sale_orders_stored_total"), per("", "sale_commits_total")+" > 0"), "orders")},
		{title: "Commit time", unit: "s", about: "Of a batch of orders.", warn: .25, bad: 1, queries: quantiles("sale_commit_seconds")},
		{title: "Put aside and failed", unit: "short", about: "Parked orders wait for an operator; failed ones are tombstones, by reason; a number clash is never to happen.", bad: 1, queries: []query{{most("", of("sale_queue_parked")), "parked"}, {per("code", "sale_orders_failed_total"), "failed a second: {{code}}"}, {per("", "sale_number_clashes_total"), "number clashes a second"}}},
		{title: "Beside the queue", unit: "reqps", about: "Orders past Redis, entries taken over from a consumer that died, batches halved, and the like.", queries: one(per("event", "sale_queue_events_total"), "{{event}}")},
		{title: "Stock checks", unit: "reqps", about: "What the reconciler of sales had to set right, and what failed in the background.", queries: []query{{per("did", "sale_reconciled_total"), "{{did}}"}, {per("", "sale_errors_total"), "errors"}, {per("", "sale_incarnations_total"), "partitions compared"}}},
		{title: "Doors", unit: "short", about: "Partitions to which servers admit nothing by Redis now, and servers that keep out of a Redis that evicts.", bad: 1, queries: []query{{sum("", of("sale_door_closed")), "closed"}, {sum("", of("sale_evicting")), "kept out"}, {per("", "voucher_edit_failures_total"), "edits that Redis did not hear of, a second"}}},
		{title: "Orders", unit: "reqps", about: "What happened to orders: placed, paid, expired, refunded …", queries: one(per("event", "order_events_total"), "{{event}}")},
		{title: "Numbers", unit: "reqps", about: "Segments of numbers.", queries: rates("sequence_leases_total", "sequence_failures_total")},
		{title: "Locks of orders and jobs", unit: "reqps", about: "Locks in Redis (orders) and in Postgres (jobs). Failed: the store did not answer. Lost: the lock ended before its release.", queries: rates("lock_acquired_total", "lock_waited_total", "lock_failed_total", "lock_lost_total", "lock_max_hold_total")},
	}
}

func feedPanels() []panel {
	return []panel{
		{title: "Fan-out", unit: "s", about: "From the publishing of a note until it was pushed to all followers.", warn: 10, bad: 30, queries: quantiles("feed_fan_out_seconds")},
		{title: "Pushed and pages", unit: "reqps", about: "Followers that notes were pushed to; pages of feeds, by where they came from.", queries: []query{{per("", "feed_pushed_total"), "pushed"}, {per("from", "feed_pages_total"), "pages: {{from}}"}}},
		{title: "Live feeds", unit: "short", about: "Live feeds that are followed, and users of whom it is known whom they follow.", queries: []query{{sum("", of("feed_live_sessions")), "sessions"}, {sum("", of("feed_live_viewers")), "viewers"}}},
		{title: "Live feeds told", unit: "reqps", about: "Updates handed over as they happened, and to those who had missed them; events told as they were announced (hinted) or found by looking.", queries: rates("feed_live_told_total", "feed_live_replayed_total", "feed_live_events_total", "feed_live_hinted_total", "feed_live_found_total", "feed_live_errors_total")},
		{title: "Live lag", unit: "s", about: "How far each server is behind the log of notes.", warn: 1, bad: 5, queries: []query{{of("feed_live_lag_seconds"), "{{instance}}"}, {of("feed_live_lag_numbers"), "{{instance}} in numbers"}}},
		{title: "Going on", unit: "reqps", about: "Live feeds that went on from a place: from the log, or told to read the feed anew (resync).", queries: one(per("source", "feed_live_replays_total"), "{{source}}")},
		{title: "Hints", unit: "reqps", about: "Keys that may have changed (told), those who were told to look again (hints), and states read for them.", queries: rates("live_told_total", "live_hints_total", "live_reads_total", "live_errors_total", "live_pubsub_published_total", "live_pubsub_unpublished_total")},
		{title: "Pub/sub", unit: "short", about: "Servers that listen, and what is watched. A connection made anew means that one was lost.", queries: []query{{sum("", of("live_pubsub_connected")), "servers that listen"}, {sum("", of("live_watches")), "watches"}, {per("", "live_pubsub_connects_total"), "connects a second"}, {per("", "live_pubsub_probe_failures_total"), "given up a second"}}},
		{title: "Subscribers", unit: "short", about: "Sockets and event streams that are open, and the subscriptions that share what is executed once for each selection.", queries: []query{{sum("", of("door_sockets_open")), "sockets"}, {sum("", of("door_event_streams")), "event streams"}, {sum("", of("door_subscriptions")), "shared subscriptions"}, {sum("", of("door_selections")), "selections"}, {sum("", of("door_personal_selections")), "personal selections"}}},
		{title: "Deliveries", unit: "reqps", about: "Updates handed to subscriptions, and how few were executed for them.", queries: rates("door_deliveries_total", "door_executions_total", "door_lagged_total")},
		{title: "Delivery time", unit: "s", about: "From an update until it was handed to all subscriptions of a selection.", warn: 1, bad: 5, queries: quantiles("door_delivery_seconds")},
		{title: "Sockets", unit: "short", about: "Ends by close code, messages refused, clients that do not take what they are sent, and the bytes that wait for them.", queries: []query{{per("code", "door_socket_closes_total") + " > 0 or on () " + per("", "door_socket_closes_total"), "closed {{code}} a second"}, {per("reason", "door_socket_messages_refused_total"), "refused {{reason}} a second"}, {per("action", "door_socket_slow_total"), "slow: {{action}} a second"}, {sum("", of("door_socket_queue_bytes")), "bytes waiting"}}},
	}
}

func workPanels() []panel {
	return []panel{
		{title: "Outbox waiting", unit: "short", about: "Jobs that must follow a commit and are not done, by topic.", bad: 10000, queries: []query{{most("topic", of("outbox_waiting")), "{{topic}}"}, {most("", of("outbox_parked")), "parked"}}},
		{title: "Outbox age", unit: "s", about: "Since the oldest waiting job was added.", warn: 60, bad: 300, queries: one(most("topic", of("outbox_oldest_seconds")), "{{topic}}")},
		{title: "Outbox jobs", unit: "reqps", about: "By outcome: at once is the usual one.", queries: []query{{per("outcome", "outbox_jobs_total"), "{{outcome}}"}, {per("doing", "outbox_errors_total"), "error: {{doing}}"}}},
		{title: "Scans", unit: "short", about: "What tandian reconcile and its schedule found in an hour, and did not set right.", bad: 1, queries: []query{
			{"sum by (what) (increase(" + of("reconcile_found_total") + "[1h]))", "found: {{what}}"},
			{"sum by (what) (increase(" + of("reconcile_found_total") + "[1h])) - sum by (what) (increase(" + of("reconcile_mended_total") + "[1h]))", "left: {{what}}"},
		}},
		{title: "Scanned", unit: "reqps", about: "Things compared, by scan, and scans that failed.", queries: []query{{per("what", "reconcile_compared_total"), "{{what}}"}, {per("what", "reconcile_failures_total"), "failed: {{what}}"}}},
		{title: "Scheduled work", unit: "short", about: "Runs by job and result, and how long ago each job last succeeded on any server.", queries: []query{
			{per("exported_job, result", "schedule_runs_total"), "{{exported_job}} {{result}} a second"},
			{"time() - " + most("exported_job", of("schedule_last_success_timestamp_seconds")), "{{exported_job}} seconds ago"},
		}},
		{title: "Time of scheduled work", unit: "s", about: "p95 of runs, by job.", queries: one(quantile(.95, "exported_job", "schedule_run_seconds")+" >= 0", "{{exported_job}}")},
		{title: "Warm-up", unit: "short", about: "What was read before anybody asked, parts that failed, and how long the last starts took.", queries: []query{
			{per("what", "warmup_entries_total"), "{{what}} a second"},
			{per("what", "warmup_failures_total"), "failed: {{what}}"},
			{of("warmup_seconds"), "seconds at the start of {{instance}}"},
			{"1 - " + of("warmup_finished"), "{{instance}} is still cold"},
		}},
		{title: "Failures in the background", unit: "reqps", about: "What failed unseen and is tried again, by room.", queries: rates("account_failures_total", "order_failures_total", "visit_failures_total", "log_reader_errors_total", "sql_errors_total", "quota_failures_total")},
		{title: "Order lists", unit: "reqps", about: "Lists of orders in Redis that were built anew or compared with the rows.", queries: rates("order_list_rebuilds_total", "order_lists_compared_total")},
		{title: "Visits", unit: "reqps", about: "Views recorded, and those not counted.", queries: []query{{per("kind", "visits_total"), "{{kind}}"}, {per("reason", "visits_dropped_total"), "not counted: {{reason}}"}}},
		{title: "Shops and pictures", unit: "reqps", about: "Searches near a place, cells built for them, pictures taken and collected, deleted notes cleared, writes over a limit.", queries: rates("shop_near_total", "shop_cells_built_total", "media_uploads_total", "media_collected_total", "deleted_notes_cleared_total", "quota_refused_total")},
	}
}

func postgresPanels() []panel {
	const databases = `datname!~"template.*|postgres"`
	database := func(metric string) string {
		return "sum by (datname) (rate(pg_stat_database_" + metric + "{" + databases + "}[$__rate_interval]))"
	}
	return []panel{
		{title: "Connections by state", unit: "short", about: "Of all clients, and how many there may be.", queries: []query{{"sum by (state) (pg_stat_activity_count)", "{{state}}"}, {"max(pg_settings_max_connections)", "max_connections"}}},
		{title: "Transactions", unit: "ops", about: "Commits and rollbacks.", queries: []query{{database("xact_commit"), "{{datname}} commits"}, {database("xact_rollback"), "{{datname}} rollbacks"}}},
		{title: "Buffer hits", unit: "percentunit", about: "Blocks that were found in shared_buffers. Below 99 % for long, memory is short.", warn: .99, bad: .9, below: true, most: 1, queries: one(share(database("blks_hit"), database("blks_hit")+" + "+database("blks_read")), "{{datname}}")},
		{title: "Rows", unit: "ops", about: "Rows written.", queries: []query{{database("tup_inserted"), "{{datname}} inserted"}, {database("tup_updated"), "{{datname}} updated"}, {database("tup_deleted"), "{{datname}} deleted"}}},
		{title: "Locks", unit: "short", about: "Locks held and awaited, by mode, and deadlocks in ten minutes.", queries: []query{{"sum by (mode) (pg_locks_count{" + databases + "})", "{{mode}}"}, {"sum(increase(pg_stat_database_deadlocks[10m]))", "deadlocks"}}},
		{title: "Longest transaction", unit: "s", about: "By state of its session.", warn: 60, bad: 300, queries: one("max by (state) (pg_stat_activity_max_tx_duration)", "{{state}}")},
		{title: "WAL held back by slots", unit: "bytes", about: "What each replication slot keeps Postgres from deleting. Beyond 1 GiB is an alert.", warn: 256 << 20, bad: 1 << 30, queries: one("max by (slot_name) (pg_replication_slots_pg_wal_lsn_diff)", "{{slot_name}}")},
		{title: "Replication lag", unit: "bytes", about: "How far each reader of the WAL is behind: standbys, and the reader of the log.", warn: 16 << 20, bad: 64 << 20, queries: one("max by (application_name) (pg_stat_replication_pg_wal_lsn_diff)", "{{application_name}}")},
		{title: "Log reader", unit: "short", about: "One server at a time reads the log of changes. Missed: all was told to have changed, since something may have gone by unheard.", queries: []query{{sum("", of("log_reader_active")), "readers"}, {per("table", "log_reader_changes_total"), "{{table}} a second"}, {per("", "log_reader_missed_total"), "missed a second"}, {most("", of("log_reader_lag_bytes")), "bytes behind"}}},
		{title: "SQL statements", unit: "ops", about: "As servers send them, for requests and by workers.", queries: []query{{per("verb", "sql_statement_seconds_count"), "{{verb}}"}, {per("verb", "sql_worker_statement_seconds_count"), "workers: {{verb}}"}}},
		{title: "SQL time", unit: "s", about: "Of statements of requests.", warn: .1, bad: .5, queries: quantiles("sql_statement_seconds")},
		{title: "SQL pools", unit: "short", about: "Connections of all servers, and how many calls a second wait for one.", queries: []query{{sum("", of("go_sql_open_connections")), "open"}, {sum("", of("go_sql_in_use_connections")), "in use"}, {sum("", of("go_sql_max_open_connections")), "at most"}, {per("", "go_sql_wait_count_total"), "waits a second"}, {per("", "go_sql_wait_duration_seconds_total"), "seconds waited a second"}}},
		{title: "Promotions", unit: "short", about: "Standbys that took over, as servers noticed in an hour, and failures of what servers do after one.", warn: 1, queries: []query{
			{"sum(increase(" + of("database_promotions_total") + "[1h]))", "promotions"},
			{"sum(increase(" + of("database_promotion_errors_total") + "[1h]))", "errors"},
		}},
		{title: "Size", unit: "bytes", about: "Of each database on the disk.", queries: one("sum by (datname) (pg_database_size_bytes{"+databases+"})", "{{datname}}")},
		{title: "Checkpoints", unit: "short", about: "In ten minutes. Requested ones come since max_wal_size is reached.", queries: []query{{"sum(increase(pg_stat_bgwriter_checkpoints_timed_total[10m]))", "timed"}, {"sum(increase(pg_stat_bgwriter_checkpoints_req_total[10m]))", "requested"}}},
	}
}

func processPanels() []panel {
	process := func(expr string) []query {
		return one(strings.ReplaceAll(expr, "{}", `{job="tandian",instance=~"$instance"}`), "{{instance}}")
	}
	return []panel{
		{title: "CPU", unit: "short", about: "Processors in use.", queries: process("rate(process_cpu_seconds_total{}[$__rate_interval])")},
		{title: "Memory", unit: "bytes", about: "Resident.", queries: process("process_resident_memory_bytes{}")},
		{title: "Heap", unit: "bytes", about: "In use, as Go counts it, caches of the process among it.", queries: process("go_memstats_heap_inuse_bytes{}")},
		{title: "Goroutines", unit: "short", about: "They rise with sockets and fall with them.", queries: process("go_goroutines{}")},
		{title: "Garbage collection", unit: "percentunit", about: "Time in pauses.", queries: process("rate(go_gc_duration_seconds_sum{}[$__rate_interval])")},
		{title: "Open files", unit: "percentunit", about: "Connections and files, of what the process may have.", warn: .7, bad: .9, most: 1, queries: process("process_open_fds{} / process_max_fds{}")},
		{title: "Up since", unit: "s", about: "How long each server has run. A line that falls is a restart.", queries: process("time() - process_start_time_seconds{}")},
	}
}
