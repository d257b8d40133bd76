import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  { ignores: ['build/', 'data/', 'dist/', '.tap/'] },
  {
    files: ['**/*.{ts,js}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unsafe-type-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/promise-function-async': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/return-await': ['error', 'always'],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
    },
  },
  {
    // A script of browsers: the types of Node.js are not its own.
    files: ['lib/pages/assets/*.js'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      sourceType: 'script',
      parserOptions: { projectService: false },
      globals: { document: 'readonly', fetch: 'readonly', URL: 'readonly' },
    },
    rules: { 'no-undef': 'error', 'no-implicit-globals': 'error' },
  },
  {
    files: ['spec/**/*.ts'],
    rules: {
      // tap's own assertions take promises; a test without an await is still async for tap.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: '@tapjs/test', name: 'test' },
            { from: 'package', package: '@tapjs/core', name: ['test', 'teardown'] },
          ],
        },
      ],
      '@typescript-eslint/no-unsafe-type-assertion': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/unbound-method': 'off',
      // tap writes a test's state into its options: the second test with the same object tells what the first one did.
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression[callee.property.name="test"][arguments.length=3] > Identifier.arguments:nth-child(2)',
          message: 'Give each test options of its own: a literal, or what a call makes.',
        },
      ],
    },
  },
)
