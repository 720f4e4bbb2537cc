package event

import "example.org/parley"

// KnowledgeCreated reports a new item of what agents know, to those who may read all of its
// sources.
//
//event:feed
type KnowledgeCreated struct {
	ItemID  parley.ID              `json:"item_id"`  // the item
	AgentID parley.ID              `json:"agent_id"` // whose it is; for a team's the team's lead
	Status  parley.KnowledgeStatus `json:"status"`   // active
}

// KnowledgeUpdated reports that an item was learned anew, changed, pinned, approved, superseded
// or forgotten. An item goes with the first session of its sources that is deleted, or that its
// readers may not see any more: session.deleted reports that.
//
//event:feed
type KnowledgeUpdated struct {
	ItemID  parley.ID              `json:"item_id"`  // the item
	AgentID parley.ID              `json:"agent_id"` // whose it is; for a team's the team's lead
	Status  parley.KnowledgeStatus `json:"status"`   // its status now
}
