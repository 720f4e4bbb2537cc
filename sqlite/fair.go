package sqlite

import "parley"

// The shares of a process's slots (DESIGN §4): what one workspace may hold while
// others wait, and what background work may hold.
const (
	workspaceShare  = 80 // percent
	backgroundShare = 50 // percent
)

// picker chooses the sessions of one Claim. It reads only the ready rows that it
// offers, however many wait.
type picker struct {
	asked      int // sessions wanted
	slots      int // of the process: held and free
	priority   int // 0 foreground, then 1 background
	workspaces []parley.ID
	at         int
	tried      int // workspaces without an offer since the last one
	held       map[parley.ID]int
	background int
}

// newPicker counts what the process holds. Its slots are as many as it said, and
// never fewer than these and the n that it asks for.
func (t *txn) newPicker(processID parley.ID, n int) (*picker, error) {
	p := &picker{asked: n, slots: n, held: map[parley.ID]int{}}
	err := t.each("SELECT workspace_id, mode = 'background', count(*) FROM heads WHERE holder = ? GROUP BY 1, 2", func(r *row) error {
		workspace, background, count := r.id(), r.bool(), r.int()
		p.held[workspace] += count
		p.slots += count
		if background {
			p.background += count
		}
		return nil
	}, processID)
	if err != nil {
		return nil, err
	}
	if _, err := t.one("SELECT slots FROM processes WHERE id = ?", func(r *row) error {
		p.slots = max(p.slots, r.int())
		return nil
	}, processID); err != nil {
		return nil, err
	}
	return p, p.survey(t, n)
}

// survey lists the workspaces that wait, at most as many as can be served,
// beginning behind the one served last.
func (p *picker) survey(t *txn, n int) error {
	p.workspaces, p.at, p.tried = p.workspaces[:0], 0, 0
	last := t.lastServed
	for wrapped := false; len(p.workspaces) <= n; {
		var found parley.ID
		if _, err := t.one("SELECT workspace_id FROM ready WHERE workspace_id > ? AND priority = ? ORDER BY workspace_id LIMIT 1", func(r *row) error {
			found = r.id()
			return nil
		}, last[:], p.priority); err != nil {
			return err
		}
		switch {
		case found.IsZero() && wrapped, wrapped && !found.IsZero() && found.Compare(t.lastServed) > 0:
			return nil
		case found.IsZero():
			wrapped, last = true, parley.ID{}
		default:
			p.workspaces = append(p.workspaces, found)
			last = found
		}
	}
	return nil
}

// next is the session to claim next; the zero id when no more may be.
func (p *picker) next(t *txn) (parley.ID, error) {
	for {
		if p.priority == 1 && p.background >= max(1, p.slots*backgroundShare/100) {
			return parley.ID{}, nil
		}
		if p.tried >= len(p.workspaces) {
			if p.priority == 1 {
				return parley.ID{}, nil
			}
			p.priority = 1
			if err := p.survey(t, p.asked); err != nil {
				return parley.ID{}, err
			}
			if len(p.workspaces) == 0 {
				return parley.ID{}, nil
			}
			continue
		}
		workspace := p.workspaces[p.at%len(p.workspaces)]
		p.at++
		p.tried++
		if len(p.workspaces) > 1 && p.held[workspace] >= max(1, p.slots*workspaceShare/100) {
			continue
		}
		var id parley.ID
		if _, err := t.one("SELECT session_id FROM ready WHERE workspace_id = ? AND priority = ? AND not_before <= ? ORDER BY ready_at, session_id LIMIT 1", func(r *row) error {
			id = r.id()
			return nil
		}, workspace, p.priority, t.now); err != nil {
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
	p.held[h.WorkspaceID]++
	if h.Mode == parley.ModeBackground {
		p.background++
	}
	t.lastServed = h.WorkspaceID
}
