package observe

// StreamStats is what a process's watchers do. Counts are since its start.
type StreamStats struct {
	Watchers  int   // open connections
	Feeds     int   // of them, those that watch the workspace feed too
	Seats     int   // sessions watched, each watcher's counted
	Streams   int   // messages that stream just now
	Events    int64 // event frames given to watchers
	Deltas    int64 // delta frames given to watchers
	Overflows int64 // feeds that were told to fetch their lists again because they read too slowly
}

// WorkerStats is what a worker has to do.
type WorkerStats struct {
	Slots    int // turns that it runs at once
	Running  int // slots taken
	Draining bool
}
