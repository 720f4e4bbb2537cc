package observe

// Operation names a store call of a worker.
type Operation string

// The operations.
const (
	OperationClaim          Operation = "claim"
	OperationRecoverTurn    Operation = "recover_turn"
	OperationBeginStep      Operation = "begin_step"
	OperationRetryCall      Operation = "retry_call"
	OperationBeginCall      Operation = "begin_call"
	OperationOpenBlock      Operation = "open_block"
	OperationAppendVersions Operation = "append_versions"
	OperationSettleStep     Operation = "settle_step"
	OperationSettleTool     Operation = "settle_tool"
	OperationParkTurn       Operation = "park_turn"
	OperationParkRefused    Operation = "park_refused"
	OperationOpenChild      Operation = "open_child"
	OperationUseApprovals   Operation = "use_approvals"
	OperationAskTool        Operation = "ask_tool"
	OperationFinishTurn     Operation = "finish_turn"
	OperationReleaseTurn    Operation = "release_turn"
	OperationRenewLease     Operation = "renew_lease"
	OperationSweep          Operation = "sweep"
	OperationApplyOutbox    Operation = "apply_outbox"
)

// Operations lists every operation.
func Operations() []Operation {
	return []Operation{
		OperationClaim,
		OperationRecoverTurn,
		OperationBeginStep,
		OperationRetryCall,
		OperationBeginCall,
		OperationOpenBlock,
		OperationAppendVersions,
		OperationSettleStep,
		OperationSettleTool,
		OperationParkTurn,
		OperationParkRefused,
		OperationOpenChild,
		OperationUseApprovals,
		OperationAskTool,
		OperationFinishTurn,
		OperationReleaseTurn,
		OperationRenewLease,
		OperationSweep,
		OperationApplyOutbox,
	}
}
