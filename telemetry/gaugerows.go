package telemetry

import (
	"example.org/parley"
	"example.org/parley/internal/metric"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// The values of the label priority.
const (
	foreground = "foreground"
	background = "background"
)

// gaugeRows returns every metric read at a scrape.
func gaugeRows() []gauge {
	rows := queueRows()
	rows = append(rows, workerRows()...)
	rows = append(rows, streamRows()...)
	rows = append(rows, relayRows()...)
	return append(rows, databaseRows()...)
}

func row(kind metric.Kind, name, help string, read func(*scrape) []sample, labels ...string) gauge {
	return gauge{desc: metric.Desc{Name: name, Help: help, Kind: kind, Labels: labels}, read: read}
}

// one reads a single value from a part of a scrape that may be missing.
func one[T any](part func(*scrape) *T, value func(*T) float64) func(*scrape) []sample {
	return func(s *scrape) []sample {
		from := part(s)
		if from == nil {
			return nil
		}
		return []sample{{value: value(from)}}
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func parkedTurns(s *scrape) (samples []sample) {
	if s.queue == nil {
		return nil
	}
	for _, reason := range parley.WaitReasons() {
		samples = append(samples, sample{float64(s.queue.Parked[reason]), []string{string(reason)}})
	}
	return samples
}

func queueRows() []gauge {
	both := func(value func(store.ReadyTurns) float64) func(*scrape) []sample {
		return func(s *scrape) []sample {
			if s.queue == nil {
				return nil
			}
			return []sample{
				{value(s.queue.Foreground), []string{foreground}},
				{value(s.queue.Background), []string{background}},
			}
		}
	}
	return []gauge{
		row(
			metric.KindGauge,
			"parley_queue_depth",
			"Sessions whose next turn may run and has no holder, in the whole database.",
			both(func(r store.ReadyTurns) float64 { return float64(r.Waiting) }),
			"priority",
		),
		row(
			metric.KindGauge,
			"parley_queue_oldest_seconds",
			"How long the oldest of them has been ready; 0 if none waits.",
			both(func(r store.ReadyTurns) float64 { return r.Oldest.Seconds() }),
			"priority",
		),
		row(
			metric.KindGauge,
			"parley_turns_waiting",
			"Turns that wait for something outside, by reason, in the whole database.",
			parkedTurns,
			"reason",
		),
		row(
			metric.KindGauge,
			"parley_approvals_pending",
			"Unanswered questions to people, in the whole database.",
			one(
				func(s *scrape) *store.QueueStats { return s.queue },
				func(q *store.QueueStats) float64 { return float64(q.Approvals) },
			),
		),
		row(
			metric.KindCounter,
			"parley_queue_look_failures_total",
			"Scrapes that could not read the queue from the database.",
			func(s *scrape) []sample { return []sample{{value: s.broken}} },
		),
		row(metric.KindGauge, "parley_ready", "1 when this process is ready, as /readyz says.",
			one(func(s *scrape) *bool { return s.ready }, func(is *bool) float64 { return truth(*is) })),
	}
}

func workerRows() []gauge {
	worker := func(s *scrape) *observe.WorkerStats { return s.worker }
	return []gauge{
		row(metric.KindGauge, "parley_worker_slots", "The most turns that this process runs at once.",
			one(worker, func(w *observe.WorkerStats) float64 { return float64(w.Slots) })),
		row(
			metric.KindGauge,
			"parley_worker_running",
			"Turns that this process runs, including slots reserved for a claim.",
			one(worker, func(w *observe.WorkerStats) float64 { return float64(w.Running) }),
		),
		row(metric.KindGauge, "parley_draining", "1 while this process stops and claims nothing more.",
			one(worker, func(w *observe.WorkerStats) float64 { return truth(w.Draining) })),
	}
}

func streamRows() []gauge {
	streams := func(s *scrape) *observe.StreamStats { return s.streams }
	return []gauge{
		row(metric.KindGauge, "parley_watchers", "Open event streams.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Watchers) })),
		row(metric.KindGauge, "parley_feed_watchers", "Open event streams of a workspace's feed.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Feeds) })),
		row(metric.KindGauge, "parley_watched_sessions", "Sessions watched, counted for each watcher.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Seats) })),
		row(metric.KindGauge, "parley_streaming_messages", "Messages streaming in this process now.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Streams) })),
		row(metric.KindCounter, "parley_events_sent_total", "Durable events given to watchers.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Events) })),
		row(metric.KindCounter, "parley_deltas_sent_total", "Deltas given to watchers, as merged for each.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Deltas) })),
		row(
			metric.KindCounter,
			"parley_feed_overflows_total",
			"Feed watchers that read too slowly and were told to fetch their lists again.",
			one(streams, func(s *observe.StreamStats) float64 { return float64(s.Overflows) }),
		),
	}
}

func relayRows() []gauge {
	relay := func(s *scrape) *store.RelayStats { return s.relay }
	return []gauge{
		row(
			metric.KindGauge,
			"parley_notify_connected",
			"1 while this process hears the notifications of the others.",
			one(relay, func(r *store.RelayStats) float64 { return truth(r.Connected) }),
		),
		row(metric.KindGauge, "parley_notify_queue", "Notifications waiting to be sent.",
			one(relay, func(r *store.RelayStats) float64 { return float64(r.Queued) })),
		row(
			metric.KindGauge,
			"parley_notify_lag_seconds",
			"Time from sending a notification to hearing it, as last measured.",
			one(relay, func(r *store.RelayStats) float64 { return r.Lag.Seconds() }),
		),
		row(metric.KindCounter, "parley_notify_sent_total", "Notifications sent to the other processes.",
			one(relay, func(r *store.RelayStats) float64 { return float64(r.Sent) })),
		row(metric.KindCounter, "parley_notify_received_total", "Notifications heard from the other processes.",
			one(relay, func(r *store.RelayStats) float64 { return float64(r.Received) })),
		row(
			metric.KindCounter,
			"parley_notify_dropped_total",
			"Notifications that were not sent; watchers elsewhere read the store instead.",
			one(relay, func(r *store.RelayStats) float64 { return float64(r.Dropped) }),
		),
		row(
			metric.KindCounter,
			"parley_notify_reconnects_total",
			"Times that the listening connection was re-established.",
			one(relay, func(r *store.RelayStats) float64 { return float64(r.Reconnects) }),
		),
	}
}

func databaseRows() []gauge {
	writer := func(s *scrape) *store.WriterStats { return s.writer }
	pool := func(s *scrape) *store.PoolStats { return s.pool }
	return []gauge{
		row(
			metric.KindGauge,
			"parley_database_damaged",
			"1 once this process has noticed that its database is damaged, until it ends.",
			func(s *scrape) []sample { return []sample{{value: truth(s.damaged)}} },
		),
		row(metric.KindGauge, "parley_writer_queue", "Transitions waiting for SQLite's only writer.",
			one(writer, func(w *store.WriterStats) float64 { return float64(w.Queued) })),
		row(metric.KindCounter, "parley_writer_commits_total", "Transactions that SQLite's writer made durable.",
			one(writer, func(w *store.WriterStats) float64 { return float64(w.Commits) })),
		row(
			metric.KindCounter,
			"parley_writer_transitions_total",
			"Transitions in these transactions; per commit, the size of a batch.",
			one(writer, func(w *store.WriterStats) float64 { return float64(w.Transitions) }),
		),
		row(
			metric.KindGauge,
			"parley_pool_connections",
			"Connections to PostgreSQL by state.",
			func(s *scrape) []sample {
				if s.pool == nil {
					return nil
				}
				return []sample{
					{
						float64(s.pool.Acquired),
						[]string{"acquired"},
					},
					{float64(s.pool.Idle), []string{"idle"}},
					{float64(s.pool.Opening), []string{"opening"}},
				}
			},
			"state",
		),
		row(metric.KindGauge, "parley_pool_connections_max", "Connections that the pool may open.",
			one(pool, func(p *store.PoolStats) float64 { return float64(p.Max) })),
		row(metric.KindCounter, "parley_pool_acquires_total", "Connections handed out.",
			one(pool, func(p *store.PoolStats) float64 { return float64(p.Acquires) })),
		row(metric.KindCounter, "parley_pool_waits_total", "Acquisitions that had to wait for a free connection.",
			one(pool, func(p *store.PoolStats) float64 { return float64(p.WaitedAcquires) })),
		row(metric.KindCounter, "parley_pool_wait_seconds_total", "Time spent waiting for a connection.",
			one(pool, func(p *store.PoolStats) float64 { return p.Waited.Seconds() })),
		row(metric.KindCounter, "parley_pool_cancelled_waits_total", "Abandoned waits for a connection.",
			one(pool, func(p *store.PoolStats) float64 { return float64(p.CancelledAcquires) })),
	}
}
