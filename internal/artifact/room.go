package artifact

import (
	"context"

	"golang.org/x/sync/semaphore"

	"example.org/parley"
)

// The memory of all documents that are compared, merged and changed at once, for people and for agents.
const (
	roomBytes  = 256 << 20
	freeBytes  = 1 << 20 // of one change, free of charge
	treeHolds  = 3       // a tree of JSON takes so much of what parley.JSONHolds says
	linesHolds = 8       // bytes of a text in lines, by its bytes
)

var room = semaphore.NewWeighted(roomBytes) //nolint:gochecknoglobals // memory belongs to the process

// Hold waits until there is room for working on contents, until release. A change that would take more than all the
// room waits until it is alone. The error is that of ctx.
func Hold(ctx context.Context, kind parley.ArtifactKind, contents ...[]byte) (release func(), err error) {
	var n int64
	for _, content := range contents {
		n += linesHolds * int64(len(content))
		if kind == parley.ArtifactJSON {
			n += treeHolds * parley.JSONHolds(content)
		}
	}
	if n <= freeBytes {
		return func() {}, nil
	}
	n = min(n, roomBytes)
	if err := room.Acquire(ctx, n); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { room.Release(n) }, nil
}
