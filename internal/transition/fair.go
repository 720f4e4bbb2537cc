package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// picker chooses the sessions of one Claim: round robin over the waiting workspaces that the process's occupancy
// admits, starting after the one served last. It reads only the ready rows that it offers, however many wait.
type picker struct {
	waiting    Waiting
	asked      int // sessions wanted
	occupancy  store.Occupancy
	ranks      []Rank // still to examine, the current one first
	suspects   Suspects
	workspaces []parley.ID
	offered    map[parley.ID]Ready // the last one of each workspace, in this mode; zero value: no more
	more       bool                // more workspaces may wait than are listed
	at         int
	tried      int // workspaces without an offer since the last one
	taken      int // sessions since the workspaces were listed
	listed     bool
}

func newPicker(waiting Waiting, n int, occupancy store.Occupancy, suspects Suspects) *picker {
	return &picker{
		waiting:   waiting,
		asked:     n,
		occupancy: occupancy.Clone(),
		ranks:     suspects.ranks(),
		suspects:  suspects,
		offered:   map[parley.ID]Ready{},
	}
}

// rank returns the current rank.
func (p *picker) rank() Rank { return p.ranks[0] }

// full reports whether the process may claim no more sessions of the current rank.
func (p *picker) full() bool { return p.suspects.Room(p.rank().Suspicion(), 1) == 0 }

// survey lists the waiting workspaces that are admitted, at most one more than can be served. Refused workspaces hold
// turns here, so it skips only few, however many workspaces exist.
func (p *picker) survey(served parley.ID) error {
	p.workspaces, p.at, p.tried, p.taken, p.more, p.listed = p.workspaces[:0], 0, 0, 0, false, true
	mode := p.rank().Mode()
	if p.full() || !p.occupancy.AdmitsAny(mode) {
		return nil
	}
	last := served
	for wrapped := false; ; {
		found, err := p.waiting.NextWorkspace(last, p.rank())
		if err != nil {
			return err
		}
		switch {
		case found.IsZero() && wrapped, wrapped && !found.IsZero() && found.Compare(served) > 0:
			return nil
		case found.IsZero():
			wrapped, last = true, parley.ID{}
			continue
		case len(p.workspaces) > p.asked:
			p.more = true
			return nil
		case p.occupancy.Admits(found, mode) && !p.exhausted(found):
			p.workspaces = append(p.workspaces, found)
		}
		last = found
	}
}

// exhausted reports whether every ready session of a workspace has been offered.
func (p *picker) exhausted(workspace parley.ID) bool {
	last, offered := p.offered[workspace]
	return offered && last == Ready{}
}

// next returns the next session to claim; the zero id if none may be.
func (p *picker) next(served parley.ID) (parley.ID, error) {
	for {
		if p.tried >= len(p.workspaces) || p.full() {
			switch {
			case !p.listed, p.more && p.taken > 0 && !p.full(): // the listed ones may no longer be admitted
			case len(p.ranks) > 1:
				p.ranks = p.ranks[1:]
				clear(p.offered)
			default:
				return parley.ID{}, nil
			}
			if err := p.survey(served); err != nil {
				return parley.ID{}, err
			}
			continue
		}
		workspace := p.workspaces[p.at%len(p.workspaces)]
		p.at++
		p.tried++
		if p.exhausted(workspace) || !p.occupancy.Admits(workspace, p.rank().Mode()) {
			continue
		}
		offer, err := p.waiting.NextReady(workspace, p.rank(), p.offered[workspace])
		if err != nil {
			return parley.ID{}, err
		}
		p.offered[workspace] = offer
		if !offer.SessionID.IsZero() {
			p.tried = 0
			return offer.SessionID, nil
		}
	}
}

// took counts a claimed session.
func (p *picker) took(h *Head) {
	p.taken++
	p.suspects.took(p.rank().Suspicion())
	p.occupancy.Take(h.WorkspaceID, p.rank().Mode())
}
