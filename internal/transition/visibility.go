package transition

import "example.org/parley"

// changeVisibility gives the tool sessions below a session, at any depth, its new visibility, after checking that it is
// allowed. Those of other owners follow to private but never to workspace: only their owners may show them.
func (t *Tx) changeVisibility(h *Head) error {
	if h.Kind == parley.KindTool && !h.ParentSessionID.IsZero() {
		parent, err := t.load(h.ParentSessionID)
		if err != nil {
			return err
		}
		if err := checkBelow(&h.Session, parent); err != nil {
			return err
		}
	}
	h.Changes.Setting.Visibility = true
	for next := []*Head{h}; len(next) > 0; next = next[1:] {
		children, err := t.rows.ToolChildren(next[0])
		if err != nil {
			return err
		}
		for _, id := range children {
			child, err := t.load(id)
			if err != nil {
				return err
			}
			if child == nil || child.DeletedAt != 0 ||
				h.Visibility != parley.VisibilityPrivate && child.OwnerID != h.OwnerID {
				continue
			}
			setting := &Setting{TagsBefore: child.Tags, Visibility: true}
			if child.Visibility != h.Visibility {
				child.Visibility = h.Visibility
				t.updatedFeed(child)
			}
			child.Changes.Setting = setting
			next = append(next, child)
		}
	}
	return nil
}

// checkBelow refuses a tool session that is more visible than the session that it works for; parent is nil if that one
// is gone.
func checkBelow(session *parley.Session, parent *Head) error {
	if session.Visibility == parley.VisibilityPrivate || parent == nil || parent.Visibility == session.Visibility {
		return nil
	}
	return parley.Errorf(
		parley.CodeConflict,
		"a tool session cannot be more visible than the session that it works for, which is private; change the "+
			"visibility of that one",
	)
}
