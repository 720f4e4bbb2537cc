package artifact

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/inflight"
)

// How many changes, comparisons and parsings of large contents run at once; the next ones wait. The trees of three JSON
// documents of 4 MiB, which a merge needs, take a quarter of a GiB.
const (
	placesOfWorkspace = 1
	placesInAll       = 2
	smallContent      = 64 << 10 // bytes; work on no larger contents does not wait
)

// Places are where the contents of artifacts are worked on. A process has one for everybody.
type Places struct{ ofWorkspace, inAll *inflight.Places }

// NewPlaces returns the places of a process.
func NewPlaces() *Places {
	return &Places{inflight.NewPlaces(placesOfWorkspace), inflight.NewPlaces(placesInAll)}
}

// Enter waits for a place to work on the newest version of an artifact, on content of so many bytes, and on the versions
// given, 0 being the newest; leave gives it back. The error is the context's.
func (p *Places) Enter(ctx context.Context, a *parley.Artifact, size int, versions ...int) (leave func(), err error) {
	small := a.Bytes <= smallContent && size <= smallContent
	for _, version := range versions {
		small = small && (version == 0 || version == a.Version) // an older one may be of any size
	}
	if small {
		return func() {}, nil
	}
	first, err := p.ofWorkspace.Enter(ctx, a.WorkspaceID)
	if err != nil {
		return nil, err
	}
	second, err := p.inAll.Enter(ctx, parley.ID{})
	if err != nil {
		first()
		return nil, err
	}
	return func() {
		second()
		first()
	}, nil
}
