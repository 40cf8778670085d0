import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/*.min.js"] },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-shadow": "error",
      "no-implicit-globals": "error",
      "max-lines": ["error", 500],
    },
  },
  {
    files: ["src/mercer/explorer/static/**/*.js"],
    languageOptions: { globals: { ...globals.browser, Plotly: "readonly" } },
  },
  {
    files: ["tests/javascript/**/*.js", "eslint.config.js"],
    languageOptions: { globals: globals.node },
  },
];
