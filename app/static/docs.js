// The API's page is plain HTML; this only gives it the theme that was chosen elsewhere.

import { start } from "./theme.js";

start();
