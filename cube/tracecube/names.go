package tracecube

import "strings"

// weftPrefix is the prefix of the unique names of metrics that Scalasca does not have.
const weftPrefix = "weft_"

// longTermSuffix is the suffix of the unique names of metrics for long-term costs of delays.
const longTermSuffix = "_longterm"

// waitNames maps wait patterns to the unique names of Scalasca's metrics. The pattern
// lock-contention is missing, because its name depends on the region (see lockName).
var waitNames = map[string]string{
	"late-sender":                              "mpi_latesender",
	"late-sender-wrong-order":                  "mpi_latesender_wo",
	"late-sender-wrong-order-same-source":      "mpi_lswo_same",
	"late-sender-wrong-order-different-source": "mpi_lswo_different",
	"late-receiver":                            "mpi_latereceiver",
	"wait-at-barrier":                          "mpi_barrier_wait",
	"barrier-completion":                       "mpi_barrier_completion",
	"wait-at-nxn":                              "mpi_wait_nxn",
	"nxn-completion":                           "mpi_nxn_completion",
	"late-broadcast":                           "mpi_latebroadcast",
	"early-reduce":                             "mpi_earlyreduce",
	"early-scan":                               "mpi_earlyscan",
	"init-completion":                          "mpi_init_completion",
	"wait-at-finalize":                         "mpi_finalize_wait",
	"wait-at-implicit-omp-barrier":             "omp_ibarrier_wait",
	"wait-at-explicit-omp-barrier":             "omp_ebarrier_wait",
}

// delayNames maps wait patterns to the unique names of Scalasca's metrics for the costs of delays.
// Both barriers of OpenMP share a metric.
var delayNames = map[string]string{
	"late-sender":                  "delay_latesender",
	"late-receiver":                "delay_latereceiver",
	"wait-at-barrier":              "delay_barrier",
	"wait-at-nxn":                  "delay_n2n",
	"late-broadcast":               "delay_12n",
	"early-reduce":                 "delay_n21",
	"wait-at-implicit-omp-barrier": "delay_ompbarrier",
	"wait-at-explicit-omp-barrier": "delay_ompbarrier",
}

// metricInfo describes a metric. parent is the unique name of its parent, whose values include the values of
// the metric.
type metricInfo struct{ parent, title, text string }

// scalascaMetrics holds the metrics that Scalasca has, by unique name.
var scalascaMetrics = map[string]metricInfo{
	"time":   {"", "Time", "Time in the call path, without calls below it."},
	"visits": {"", "Visits", "How often the call path was entered."},

	"mpi_latesender": {"time", "Late Sender", "A receive waits for its sender."},
	"mpi_latesender_wo": {"mpi_latesender", "Messages in Wrong Order",
		"The message was sent later than one that is received afterwards."},
	"mpi_lswo_same": {"mpi_latesender_wo", "Messages from same source",
		"Both messages have the same sender."},
	"mpi_lswo_different": {"mpi_latesender_wo", "Messages from different sources",
		"The messages have different senders."},
	"mpi_latereceiver": {"time", "Late Receiver", "A send waits for its receiver."},
	"mpi_barrier_wait": {"time", "Wait at Barrier",
		"A member of a barrier waits for the last one to come."},
	"mpi_barrier_completion": {"time", "Barrier Completion",
		"A member is still in a barrier after another one has left it."},
	"mpi_wait_nxn": {"time", "Wait at N x N",
		"A member of a collective operation in which all wait for all waits for the last one to come."},
	"mpi_nxn_completion": {"time", "N x N Completion",
		"A member is still in such an operation after another one has left it."},
	"mpi_latebroadcast": {"time", "Late Broadcast", "A receiver waits for the root."},
	"mpi_earlyreduce":   {"time", "Early Reduce", "The root waits for the first of the others."},
	"mpi_earlyscan":     {"time", "Early Scan", "A rank waits for one before it."},
	"mpi_init_completion": {"time", "Init Completion",
		"A process is still in MPI_Init after another one has left it."},
	"mpi_finalize_wait": {"time", "Wait at Finalize",
		"A process waits in MPI_Finalize for the last one to come."},
	"omp_ibarrier_wait": {"time", "Wait at Implicit OpenMP Barrier",
		"A thread waits for the last one of its team to come."},
	"omp_ebarrier_wait": {"time", "Wait at Explicit OpenMP Barrier",
		"A thread waits for the last one of its team to come."},
	"omp_lock_contention_critical": {"time", "OpenMP Critical Contention",
		"A thread waits until another one leaves a critical section."},
	"omp_lock_contention_api": {"time", "OpenMP Lock API Contention",
		"A thread waits until another one releases a lock."},
	"pthread_lock_contention_mutex_lock": {"time", "Pthread Mutex Contention",
		"A thread waits until another one releases a mutex."},
	"pthread_lock_contention_conditional": {"time", "Pthread Condition Contention",
		"A thread waits until another one releases the mutex of a condition."},

	"critical_path": {"", "Critical Path",
		"Time on the chain of activities that determines how long the run takes."},
	"performance_impact": {"", "Performance Impact",
		"Time of all locations on and beside the critical path, with what they lose by its imbalance."},
	"critical_path_activities": {"performance_impact", "Critical-Path Activities",
		"Time without waits, as far as the critical path has as much in the call path."},
	"critical_imbalance_impact": {"performance_impact", "Critical-Path Imbalance Impact",
		"Time that locations lose since the critical path spends more in the call path than they do."},
	"non_critical_path_activities": {"performance_impact", "Non-Critical-Path Activities",
		"Time without waits beyond that of the critical path in the call path."},

	"delay": {"", "Delay Costs", "Waiting time of all locations that the call path causes."},
	"delay_latesender": {"delay", "Late Sender, Short-Term Costs",
		"Waits of receives for this location."},
	"delay_latereceiver": {"delay", "Late Receiver, Short-Term Costs",
		"Waits of sends for this location."},
	"delay_barrier": {"delay", "Barrier, Short-Term Costs", "Waits in barriers for this location."},
	"delay_n2n": {"delay", "N x N, Short-Term Costs",
		"Waits for this location in collective operations in which all wait for all."},
	"delay_12n": {"delay", "1-to-N, Short-Term Costs",
		"Waits for this location as the root of broadcasts and scatters."},
	"delay_n21": {"delay", "N-to-1, Short-Term Costs",
		"Waits of the roots of reductions and gathers for this location."},
	"delay_ompbarrier": {"delay", "OpenMP Barrier, Short-Term Costs",
		"Waits in barriers of a team of threads for this location."},
	"delay_ompidle": {"", "OpenMP Thread Idleness Costs",
		"Time in which the other threads of the process are idle because this one works alone."},
	"omp_limited_parallelism": {"", "Limited Parallelism",
		"Time in which other threads of the process are idle because this one works in a team without them."},
}

// weftParents maps the names of weft's own metrics to their parents, if the parent is another metric of weft.
var weftParents = map[string]string{
	"weft_early_rma_fence": "weft_wait_at_rma_fence",
	"weft_late_complete":   "weft_early_wait",
}

// infoOf returns the description of the metric with a unique name.
func infoOf(name string) metricInfo {
	if k, ok := scalascaMetrics[name]; ok {
		return k
	}
	if short, ok := scalascaMetrics[strings.TrimSuffix(name, longTermSuffix)]; ok {
		return metricInfo{short.parent, strings.Replace(short.title, "Short", "Long", 1),
			"Waits for others who were late since they had waited for this location."}
	}
	k := metricInfo{"time", strings.ReplaceAll(strings.TrimPrefix(name, weftPrefix), "_", " "),
		"A figure of weft that Scalasca does not have."}
	if strings.HasPrefix(name, weftPrefix+"delay_") {
		k.parent = "delay"
	} else if parent, ok := weftParents[name]; ok {
		k.parent = parent
	}
	return k
}
