package parley

import "fmt"

// MaxQuota bounds a quota of sessions or of bytes.
const MaxQuota = 1 << 50

// Quota bounds how much there may be: in a workspace, and of one principal's in it.
// 0: not limited.
type Quota struct {
	Workspace int64
	Principal int64
}

// QuotaState is the state of a conflict that a quota makes.
type QuotaState string

// The quotas.
const (
	QuotaSessions QuotaState = "sessions_quota"
	QuotaStorage  QuotaState = "storage_quota"
)

// SessionsQuotaReached refuses a session beyond a quota of the workspace's, or of the
// principal's.
func SessionsQuotaReached(ofPrincipal bool, most int64) error {
	whose, raise := "This workspace has", "ask the operator to raise max_sessions"
	if ofPrincipal {
		whose, raise = "This key owns", "ask an admin for a key with a larger max_sessions"
	}
	return Conflict(
		QuotaSessions,
		"%s %d sessions, as many as its quota allows. Delete some, or %s.",
		whose,
		most,
		raise,
	)
}

// StorageQuotaReached refuses bytes of a file beyond a quota.
func StorageQuotaReached(ofPrincipal bool, most int64) error {
	whose, raise := "The files of this workspace", "ask the operator to raise max_storage"
	if ofPrincipal {
		whose, raise = "The files that this key has uploaded", "ask an admin for a key with a larger max_storage"
	}
	return Conflict(
		QuotaStorage,
		"%s may hold %s in total, and this one would exceed that. Delete some, or %s.",
		whose,
		sizeText(most),
		raise,
	)
}

// Storage is what files hold, in bytes.
type Storage struct {
	Workspace int64 // of the workspace, uploads on their way included; the same bytes count once
	Principal int64 // of the files that one principal has uploaded
}

// Room refuses bytes that would go beyond a quota: added to the workspace's, and to
// the principal's.
func (s Storage) Room(quota Quota, toWorkspace, toPrincipal int64) error {
	switch {
	case quota.Workspace > 0 && s.Workspace+toWorkspace > quota.Workspace:
		return StorageQuotaReached(false, quota.Workspace)
	case quota.Principal > 0 && s.Principal+toPrincipal > quota.Principal:
		return StorageQuotaReached(true, quota.Principal)
	}
	return nil
}

// sizeText is a number of bytes for people.
func sizeText(bytes int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := int64(1) << (40 - 10*i); bytes >= size && bytes%size == 0 {
			return fmt.Sprintf("%d %s", bytes/size, unit)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
