package observe

// StreamStats describes a process's watchers. Counts are since its start.
type StreamStats struct {
	Watchers  int   // open connections
	Feeds     int   // connections that watch the workspace feed too
	Seats     int   // sessions watched, counted per watcher
	Streams   int   // messages streaming now
	Events    int64 // event frames given to watchers
	Deltas    int64 // delta frames given to watchers
	Overflows int64 // feeds told to fetch their lists again because they read too slowly
}

// WorkerStats describes a worker's load.
type WorkerStats struct {
	Slots    int // most turns at once
	Running  int // slots taken
	Draining bool
}
