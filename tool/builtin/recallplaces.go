package builtin

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/tool"
)

// How many calls that read the record run at once; the next ones wait for them. Each may hold a message of 16 MiB
// several times and keep one of the database's few readers, and a model may call them as often as it likes.
const (
	recallsOfWorkspace = 2
	recallsInAll       = 4
)

// recallPlaces are the places of such calls.
type recallPlaces struct{ ofWorkspace, inAll *inflight.Places }

func newRecallPlaces() *recallPlaces {
	return &recallPlaces{inflight.NewPlaces(recallsOfWorkspace), inflight.NewPlaces(recallsInAll)}
}

// placed is a tool whose calls wait for a place.
type placed struct {
	tool.Tool
	places *recallPlaces
}

// Call implements tool.Tool.
func (t placed) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	for _, wait := range []struct {
		places *inflight.Places
		id     parley.ID
	}{{t.places.ofWorkspace, call.WorkspaceID}, {t.places.inAll, parley.ID{}}} {
		leave, err := wait.places.Enter(ctx, wait.id)
		if err != nil {
			return tool.Result{}, err
		}
		defer leave()
	}
	return t.Tool.Call(ctx, call)
}
