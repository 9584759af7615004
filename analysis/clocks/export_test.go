package clocks

// SolveWith is Solve with a number of nodes that wait before they are searched for contradictions.
var SolveWith = solveWith
