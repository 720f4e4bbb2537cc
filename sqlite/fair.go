package sqlite

import "parley"

// picker chooses the sessions of one Claim: round robin over the workspaces that
// wait and that the process's occupancy admits, beginning behind the one served
// last. It reads only the ready rows that it offers, however many wait.
type picker struct {
	asked      int // sessions wanted
	occupancy  parley.Occupancy
	mode       parley.Mode // foreground, then background
	workspaces []parley.ID
	more       bool // others may wait than those listed
	at         int
	tried      int // workspaces without an offer since the last one
	taken      int // sessions since the workspaces were listed
	listed     bool
}

func newPicker(n int, occupancy parley.Occupancy) *picker {
	return &picker{asked: n, occupancy: occupancy.Clone(), mode: parley.ModeForeground}
}

// priority is the rank of ready rows of a mode.
func priority(mode parley.Mode) int {
	if mode == parley.ModeBackground {
		return 1
	}
	return 0
}

// survey lists the workspaces that wait and are admitted, at most as many as can
// be served and one more. Those refused hold turns here, so that it passes over
// few, whatever the number of workspaces.
func (p *picker) survey(t *txn) error {
	p.workspaces, p.at, p.tried, p.taken, p.more, p.listed = p.workspaces[:0], 0, 0, 0, false, true
	if !p.occupancy.AdmitsAny(p.mode) {
		return nil
	}
	last := t.lastServed
	for wrapped := false; ; {
		var found parley.ID
		if _, err := t.one("SELECT workspace_id FROM ready WHERE workspace_id > ? AND priority = ? ORDER BY workspace_id LIMIT 1", func(r *row) error {
			found = r.id()
			return nil
		}, last[:], priority(p.mode)); err != nil {
			return err
		}
		switch {
		case found.IsZero() && wrapped, wrapped && !found.IsZero() && found.Compare(t.lastServed) > 0:
			return nil
		case found.IsZero():
			wrapped, last = true, parley.ID{}
			continue
		case len(p.workspaces) > p.asked:
			p.more = true
			return nil
		case p.occupancy.Admits(found, p.mode):
			p.workspaces = append(p.workspaces, found)
		}
		last = found
	}
}

// next is the session to claim next; the zero id when no more may be.
func (p *picker) next(t *txn) (parley.ID, error) {
	for {
		if p.tried >= len(p.workspaces) {
			switch {
			case !p.listed, p.more && p.taken > 0: // those listed may be admitted no more
			case p.mode == parley.ModeForeground:
				p.mode = parley.ModeBackground
			default:
				return parley.ID{}, nil
			}
			if err := p.survey(t); err != nil {
				return parley.ID{}, err
			}
			if len(p.workspaces) == 0 && p.mode == parley.ModeBackground {
				return parley.ID{}, nil
			}
			continue
		}
		workspace := p.workspaces[p.at%len(p.workspaces)]
		p.at++
		p.tried++
		if !p.occupancy.Admits(workspace, p.mode) {
			continue
		}
		var id parley.ID
		if _, err := t.one("SELECT session_id FROM ready WHERE workspace_id = ? AND priority = ? AND not_before <= ? ORDER BY ready_at, session_id LIMIT 1", func(r *row) error {
			id = r.id()
			return nil
		}, workspace, priority(p.mode), t.now); err != nil {
			return parley.ID{}, err
		}
		if !id.IsZero() {
			p.tried = 0
			return id, nil
		}
	}
}

// took counts a claimed session.
func (p *picker) took(t *txn, h *head) {
	p.taken++
	p.occupancy.Take(h.WorkspaceID, h.Mode)
	t.lastServed = h.WorkspaceID
}
