// Starts the page.
import "./theme.css";
import "./panels.css";
import "./verification.css";
import "./small.css";
import { Page } from "./page";
import { defineProbe } from "./probe";

const page = new Page();
defineProbe(page);
void page.start();
