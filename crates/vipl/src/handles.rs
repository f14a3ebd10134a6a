//! How functions with a handle are declared: null is answered once for all of them.

/// Declares a function of the library whose first argument is a handle: null is an invalid parameter.
macro_rules! of_handle {
    ($($(#[$doc:meta])* fn $name:ident($handle:ident: $kind:ty $(, $argument:ident: $type:ty)*) $body:block)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// The handle is null or one that this library gave and that is not closed; pointers are null or good for what they point to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($handle: *mut $kind $(, $argument: $type)*) -> $crate::VIP_RETURN {
            // SAFETY: as the caller vouches.
            let Some($handle) = (unsafe { $handle.as_ref() }) else { return $crate::INVALID_PARAMETER };
            $body
        })*
    };
}

/// Declares the functions that give a handle back.
macro_rules! closing {
    ($($(#[$doc:meta])* fn $name:ident($kind:ty);)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// The handle is null or one that this library gave; it is not used again.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(handle: *mut $kind) -> $crate::VIP_RETURN {
            if handle.is_null() {
                return $crate::INVALID_PARAMETER;
            }
            // SAFETY: it was made by `give`, and is given back once.
            unsafe { std::sync::Arc::from_raw(handle) }.close();
            $crate::SUCCESS
        })*
    };
}
