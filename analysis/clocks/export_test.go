package clocks

// SolveWith makes solveWith available to tests of other packages.
var SolveWith = solveWith
